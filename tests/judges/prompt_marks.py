"""What readers said of prompts that the experts did not label: intent and booleans.

A digest of "session:turn" → a letter of `INTENT_LETTERS`, then the letters of the booleans that hold, as in
`judge_examples.py`. Read by three who had the experts' labels at hand, each a third of them, so that training has
nearly as much again to learn from. Never used to measure. Nothing of a prompt's text stands here.
"""

from hashlib import blake2b

from aggregates.verdicts import Intent

INTENT_LETTERS: dict[str, Intent] = {
    "q": "question",
    "i": "investigation",
    "r": "review",
    "p": "plan",
    "s": "small_change",
    "b": "bug_fix",
    "f": "feature",
    "x": "refactor",
}
_MARKS = (
    "001d2fb558=bsrc 002d6688cf=xgsrcp 0035f3b176=qgc 004e523f90=sgsrc 0069a8593a=qc 0077b1f558=xgsrcvp "
    "00e0341702=sgsrc 01310fa3b0=igc 01a3311d18=bgsrcvk 020c7a31b9=sgsrc 022496ebaa=brc 032844f6bc=brc "
    "03653eb12c=qgc 03bedefeeb=igrck 0483169767=pgsrcp 04ca42283b=bsrc 0539477eef=qgc 0546aef93b=pgsrcp "
    "05745b91c1=qgc 05ce015e9d=qgc 065777be7b=igrc 070e42efb0=bsrc 07256ea88e=brc 07476d4420=qgc "
    "0750ec23ec=sgsrc 07fc73bff8=rgsrc 08ad5b2c86=sgsrc 08f4899b34=igrc 0a8e0c135f=bgsrck 0b2f969bc8=sgsrc "
    "0b3092797c=rgsrc 0b87f5dba7=brc 0be4999043=xgsrc 0c85dbe9b0=fgsrcp 0cd574532e=pgsrcp 0d9c64cbee=xgsrc "
    "0e77b4eed6=qgc 0ef5f3848e=igrck 0ff8439c0d=ssrc 101086dd96=xgsrc 11795241de=fgsrcvp 130667b6e4=bgsrc "
    "13a57156f5=rgsrc 1446adf6d3=rgsrc 14fde84a34=qgc 150dacf0e2=fgsrcp 157ed223c5=bsrck 158302c33e=bgsrc "
    "16250c55ad=qgc 162ac95ef2=sgsrc 178723c7e9=qgc 17ab84109e=brc 182d75abb0=brc 19614ba0d2=sgsrc "
    "1a56d93feb=qgc 1a70404cf4=sgsrc 1aa42dc18f=ir 1aa4db16d6=pgsrcp 1ac708e3ab=sgsrc 1b5c9415c2=qgc "
    "1c3d46658e=sgsrc 1c492ad9b8=sgsrc 1c7ba218a9=qgc 1cd1f48644=fgsrcvp 1d21a6473b=sgsrc 1d732dcdb9=pgsrcp "
    "1ded6a074f=pgsrcp 1e3a880f21=igrc 1eb1dae7be=irc 1eb520c4bd=qgc 1f1724d6c8=qgc 1fe4b66082=qgc "
    "221acb85a8=sgsrc 2293326739=igrck 22a7ee93f9=sgsrc 235ceaf025=pgsrcp 2368a137da=qgc 23e7bcd92d=sgsrc "
    "24092739ca=igrck 2445655257=sgsrcv 246ade62cd=qgc 2583cd22e9=rgsrc 26c02b6cfc=qgc 26cf549e74=qgc "
    "274452853c=sgsrc 277e8b8bbe=sgsrcv 27f73ce23f=sgsrc 28110828e3=ssrc 281eb339d3=sgcv 286c8ca132=irc "
    "28a5a11e5c=bsrc 28c82f667e=qgc 28e834d6d4=igrc 292295f0a5=bgsrck 296cd0b0be=xgsrc 29beea7239=fgsrcp "
    "2a163c6645=rsrc 2a6c19c36e=sgsc 2a6ead32b0=sg 2a6ebb1ca5=ssrcv 2a8bd7e92b=qgc 2aa572274e=ssrc "
    "2b664c6fa0=bgsrck 2b93c47244=sgsrcv 2c04ee9d69=fgsrcp 2c0771982e=fsrcp 2c084ef273=sgsrcv 2c801bb182=ssrc "
    "2cd3689977=igrck 2d19e1bed8=sgsrcv 2d538c18c6=xgsrcp 2db3d93b20=qgc 2dd83acbb2=brc 2e5fa2484a=ssrc "
    "2ed43b86d9=fgsrc 2f259c1244=igrc 305f8394ae=sgsrc 306cfa2432=igrc 307b209512=qgc 30aac53c16=qgc "
    "30b78b9836=sgsrc 3132886bbd=br 314d4c3902=rgsrc 31a6c42035=sgsrcv 31c0dcaf21=rgsrc 31c7e1ce34=qgc "
    "31f9fa5d45=fgsrc 330db68153=pgsrcp 3455f33a8c=bgsrck 34827012fd=qgc 35596574b5=bgsrcvk 363b7b36cc=bgsrc "
    "36c19fac1c=qc 36d7446250=igrc 36f14ac5fd=bgsrck 3716321ed8=bgsrc 37563a3032=sgsrc 3873f6e69e=qgc "
    "38a742633c=sgsrc 38b40d520c=qgc 39016dea03=qgc 3903f8a2fa=sgsrc 391aedac2f=qgc 3a3f6331a5=qgc "
    "3b2cb8ce54=ssrc 3b4389a99d=sgcv 3b4e514314=sgsrc 3b6cc28e80=sgsrc 3bc0dfe372=rgsrc 3d8c307ae1=ssrc "
    "3d94513c68=bgsrck 3df1a127eb=qgc 3e46918dd7=qgc 3e9fb899ec=pgsrcp 3eff73fac6=sgsrc 3fe77211e3=rgsrc "
    "401cb7a409=fgsc 4045581a9a=brc 407be72ac2=sgsrc 40b342be4f=sgscv 40c5dc92f8=igrc 40eeaebbcd=pgsrcp "
    "41b9b790f5=ssc 41c426cd26=xgsrcvp 41cdbb731c=pgsrcp 41ceed18a9=sgsrc 4201eadc49=qgc 43312f635a=sgsrcv "
    "45212c73d9=bsrc 45952beb11=igrck 459f8fe05b=sgsrcv 45d26d38ff=qgc 45d45f2371=sgsrc 45ee1134f1=igrc "
    "461eadc934=igrc 466b7789a9=pgsrcp 46a167e000=pgsrcp 47725592d9=xgsrc 47d887b617=sgsrc 480aaf4504=fsrcp "
    "4834a9bbe3=sgsrc 48bfd94020=qgc 48e2bc7e9b=sgsrc 49c01cd397=sgsrc 4a1bba2bd8=psrcp 4a8da199ec=igrc "
    "4b05a10ecc=igrck 4b0cf58405=xgsrc 4b7083b136=sgsrc 4c891bfb6c=sgsrc 4ccced0de6=pgsrcp 4d5bc33cba=igck "
    "4d7eded931=sgsrc 4d9606247b=qgc 4ddb372077=sgsrc 4ec874af5f=qgc 4fadb6eac4=sgsrc 5011bf9cf6=sgsrc "
    "50f08d37bb=igck 5199c18c55=qgc 51bee18097=xgsrc 51c1f55bf4=sgsrc 51fb82f88c=pgsrcp 521a24de87=igrc "
    "522d8f5126=bgsrck 52b2a5a7ea=brck 52d67d6775=bsrc 53b48c6412=qgc 54898ae747=rgsrc 54bc9d0c5f=bgsrc "
    "54fec5da59=sgsrc 5545ac85c7=sgsrc 558e2ca9b5=qgc 564c0c2fdd=qgc 5693aa5c1e=xsrcp 56b5141311=src "
    "56f3814c1d=sgsrc 56f555a073=qgc 56fb733209=ssrc 572635ad52=igrc 57e778fd88=igrc 585e95854e=sgsrc "
    "5889345485=bsrc 58d65b2e4e=igc 59012b1ad4=qgc 59419701f2=sgsrc 597899ea55=sgsrc 5982cf12ac=sgsrc "
    "5a16704e13=bsrck 5af4af6b93=fgsrcp 5b6e18e56c=igrc 5bb68733ac=sgsrc 5c03fa24c9=fgsrc 5c0f8b8947=qgc "
    "5c79a725de=xsrc 5cc85ba0fe=bgrck 5d16f6ede3=irc 5de6293af4=qgc 5df068e625=sgsrc 5e7de35c05=sgsrc "
    "5ec3d937db=irc 5ec741a1f6=igrc 5f0fb835ad=qgc 5f81bde972=xgsrc 5f86624cba=qgc 600dd1fd17=sgcv "
    "60256ed794=sgsrc 60a9a5ad0f=xgsrc 60b733c8ce=igrck 612c9c89fb=sgsrcv 613c651c69=fgsrcp 617737cc62=qgc "
    "61be62f367=sgsrc 621708b3d7=ssrc 62258a7ea6=sgsrc 62e877da02=sgsrc 635c3379d1=qgc 638706c1a1=sgsrc "
    "63c5429c75=sgsrc 6551c9c8d1=fgsrcvp 6619f50e45=bgsrck 661cc722f1=xgsrc 66847815a6=sgsrcv 668a2cc7ad=fgsrc "
    "66c9a5ddb5=sgsrcv 67b2e174a8=ssrc 6831cd1e17=igrc 68dd56d0f1=sgsrc 690dcd97d7=igrck 6933bb9452=qgc "
    "693a0e9669=pgsrcp 6989a65b51=sgsrc 69cf45109a=fgsrc 69d2b0e9cd=sgsrcv 69f57b85f5=brc 6a5c5ddd9d=fgsrcp "
    "6b16fd7d09=sgsrc 6b8d7fe346=fgsrcp 6bb09daa97=qgc 6bc4c5362d=brc 6bd14e3114=sgsrcv 6c21791002=pgsrcp "
    "6c7dc63424=qgc 6c85d72b20=bsrck 6d09dbdc49=sgsrc 6d309f57c5=qgc 6d5096d2d2=sgsrcv 6d659c496e=qgc "
    "6f10094fa6=qgc 6f932bf6b1=igrck 6fbd36a0ec=sgsrc 6fff71631d=qgc 707605a399=bgsrcvk 70c8314173=igrck "
    "70c94a3489=qgc 70dacdceab=sgsrc 70f57062ba=igrck 70f9c32d17=bgsrc 71893d58c3=ssrc 71b34f41dc=qgc "
    "71fae57dc4=igrc 72575ba8b0=rgrc 72e6976947=sgsrc 73196cfb5a=qc 740cac377a=qgc 760d1b93d8=qgc "
    "762c3a2621=sgsrc 76376bb192=sgsrc 764893a41f=brc 7656cbd7dd=pgsrcp 76ac8962fe=brc 7761c61b33=xgsrc "
    "7825babe6e=bgsrck 7839405811=bsrck 783db06ed0=pgsrcp 786393c6b4=sgsrc 7908732d8d=qc 7997b2ff31=igrc "
    "79fe683721=sgsrcv 7a888c91b7=bgsrc 7a9ced3149=qgc 7ab02cd799=qgc 7ac802f100=qgc 7b4e016662=bsrck "
    "7b5e052a2d=brc 7bf2528c0b=bgsrc 7c8ce38a2f=qgc 7cab52711b=sgsrcv 7cc13c5d54=qgc 7d4b0de04a=sgsrcv "
    "7d583189c1=qgc 7d6a99567c=ssrc 7db2d183b2=xgsrc 7e00d51edd=irc 7e23eafdf5=fgsrcp 7e335f0fc2=qgc "
    "7e557d06bc=rgsrc 7e6f28eee2=bgsrc 7e72bb5419=sgsrc 7e8adc4652=qgc 7f39b55d22=sgsrc 7f4350ed80=xgsrc "
    "7f454f1170=sgsrcv 7f8171a463=fgsrc 7fb3bb5715=xgsrcp 7fc0668359=pgsrcp 80286263c9=qgc 804a31622f=fsrcp "
    "814318bcf7=igrc 81d1acd2e4=xgsrc 81d51fa7e5=rsrc 82e25398b6=qgc 831790d484=ssrc 839faa02ca=brck "
    "83c294c246=igc 840c72f576=fsrcp 8462e666ab=qgc 84d4162da4=bsrck 84f291702b=qgc 85ac746548=sgsrcv "
    "860c8ff85b=rgsrc 86277f35bd=qgc 86644751c6=sgsrc 867c3a0ed2=qgc 86c545e396=pgsrcp 877b81f1e4=igrck "
    "88c202583f=brc 88db8806ec=bgsrcvk 899f4c42fd=sgsrcv 89aebcc2fc=ssrc 89b40e414e=sgsrc 89dbf0ca48=sgsrcv "
    "8a283a5f22=bgsrck 8b430c41f4=qgc 8b79a3dfab=rgsrc 8be695cc38=xsrc 8c2224b9a1=bgsrc 8c242b381b=fgsrc "
    "8c6ac0dfa8=brc 8caf9cbe3f=rgsrc 8cdc6c1090=brc 8d9f454cc2=bgsrck 8eba68f491=igrc 8ee349c43d=igrc "
    "8ef99cb073=ssrcv 8f62ca3024=qgc 90370a25ee=igrc 90ea025f35=rsrc 90f57c5f68=sgsrc 914a6d2fb1=pgsrcp "
    "915dff40cf=qgc 91db2ef9aa=qgc 91ed6cb5ba=qgc 922ebe8105=fsrcp 9265abd22a=sgsrc 9267f4bc68=brc "
    "9285637051=igrc 92d68ba4b6=igrc 92eb0e7e72=brc 93b4103e06=rgsrc 93cc722688=qgc 9420e04e2b=igrc "
    "945e5611e1=sgsrc 94ba06559b=bsrc 950e6901eb=sgsrc 9530b6e177=fsrc 9548480ace=sgsrc 95ea95d8f1=ssrc "
    "95eb482739=igrc 9628009fb6=qgc 96ac1449ce=qgc 96ac2a7cf9=qgc 97d79c3768=bgsrc 988cc9fe75=qgc "
    "98bc753bdd=sgsrcv 991649acd2=qgc 9a1d4a428e=ssrc 9a77473aee=igrc 9c742e0f3c=igrc 9c825b2a7b=qgc "
    "9c9e46f9e8=sgsrc 9d0e991ffe=frcp 9d4b3a78d2=qgc 9e4987f798=brc 9ea814d49f=sgsrc 9eaf2c0d02=sgsrc "
    "9f09c3e46f=xgsrc 9f26d8d873=sgsrc 9faff0f269=fgsrc a0e9778f00=qgc a13df45be6=sgsrcv a155b7a385=igrc "
    "a194bd6d6e=bsrck a1bd011551=ssrc a1eff49b89=qgc a205feb423=sgsrc a241fa8b6a=qgc a2669e51e7=pgsrcp "
    "a2a13912e6=qgc a31dc17912=sgcv a346c7fa7e=fgsrcvp a459edc0a2=rsrc a46d1a4727=brc a4b2557d57=qgc "
    "a50ca61132=rgsrc a62c355da4=qgc a63ea8dd53=irc a6cbb32f37=xsrc a74a5dd9a9=qgc a8693d86c5=rgsrc "
    "a916d60afd=irc aa1e86edc2=brc aa2519d15f=sgsrc aa2fd884b3=sgsrc ab778f6250=qgc acad2d0951=sgsrc "
    "acc4fefc33=sgsrc ad5523c98d=sgscv ad62e1063f=igck ae9b324330=igrck aeb98458f4=fsrcp aee9bb8d18=rsrc "
    "af033fb012=qgc b0191afc55=brc b13311d374=pgsrcp b1ab363ad8=b b1f9ccc1bd=igrc b248ac4b8e=sgsrc "
    "b2882e1c91=qgc b3745ea510=sgsrcv b3f1e0d01d=brc b41fba7719=sgsrc b49f3fadb6=qgc b4ab678d3b=psrcp "
    "b4cc2b4cfb=irck b5254b75cc=sgsrc b52fe8b9e9=xgsrc b5802e59d1=irc b5b815a73d=qc b5f9fa958e=qgc "
    "b7041c183b=xr b790e52db3=pgsrcp b87d559fce=sgsrcv b8cef51e99=fgsrcp b95bb8e0cb=qgc ba72156b76=sgsrc "
    "ba8d0bb3ce=qgc bae2bd0248=sgsrc bb2c271e5d=sgsc bb8d1980f9=ssrc bbf30a7a02=rgsrc bc053bb9cb=sgsrc "
    "bc25d4bbe8=src bc45d715ed=qgc bc7dc41795=brc bcf6c123b3=igrc bd40faf478=sgsrc bd79402430=qc "
    "bdace1bf3b=brc bef1310293=igrc bfa17a083b=sgsrc c028c2c0d8=igrck c1d91dc897=brck c285eb8866=sgsrc "
    "c2d50c2d86=bgsrck c338adabc5=rgsrc c339c5f1db=qgc c3aa4ad4b9=brc c4ee8a1132=igrc c5dc382a66=sgsrc "
    "c63aac0015=sgsrc c63eb6cfac=bgsrc c76a992286=sgsrc c79337cf4d=igrc c7a836e7af=qgc c83757fd17=qgc "
    "c844c3bc0a=sgsrc c88c9d1938=ssrc c957c890d0=bgsrck c9818d6495=qgc c9b5c6637a=qgc c9f54747a2=sgsrc "
    "ca4950b1c2=qgc cb17b13578=xgsrc cc1c8cf089=bgsrc cccab1fcaf=sgsrc cd416b53b9=fgsrcp ce358a7a6e=igrc "
    "cf14907d6d=bsrc cf80a1ae57=igrck cfc81b6a8e=brc d051fbb15d=sgsrc d0730f0236=sgsrcv d07a9ec7c6=igrc "
    "d2b03728c5=qgc d2c3bf48ac=qgc d2c8d734ad=bgsrc d33157a056=sgsrc d50ac8dccb=sgsrc d664e62315=sgsrc "
    "d684fc080a=sgsrc d698f4d8c6=qgc d6e00d5f47=sgsrc d7271a60e5=igrck d786737a35=bsrc d7cc068b58=sgsrc "
    "d7d03e7f9f=sgsrc d8c6586aba=qgc d9050072fe=bgsrck d9e98d6a6c=qgc da017f28b4=sgsrc db6cb3335a=rgsrc "
    "db7754b3aa=rrc dbf4653be5=sgsrcv dc2809cdde=qgc dc29181c84=igrc dc35915067=igrc dc3a6dd90a=igrc "
    "dcdc328cc4=qgc dd681ff8e8=xsrcp dd7de011dd=irc dd81f1b9c2=qgc de291b3a89=brc de9d63eac0=sgscv "
    "dec688f525=xgsrc df6e49320e=sgsrc df848e655d=pgsrcp e0bc148b8f=rsrc e13fefb293=xgsrc e1568ea40a=igrck "
    "e1633ee654=qgc e24c83fe95=rgsrc e2563d8fec=sgrc e27cf3f845=sgsrc e2e611e59c=bsrc e345d2eada=ssrc "
    "e379ccc678=brcv e42d02dfe5=irc e47beb2742=fgsrcvp e48a0a4816=qgc e5dfe1e7cb=qgc e5f4c147f6=ssrc "
    "e5f8536d2b=xgsrc e717fb88b5=ssrc e7e1bb5ab3=qgc e8e8256f8f=sgsrcv e9520697fa=ssrc e9f2b4a0bf=sgsrc "
    "eab37ce0db=sgsrc eacb6ac83d=fgsrcvp eafa4cde62=qgc eb276903d5=qc eb87b487e1=qgc ec5131eece=rgsrc "
    "ecf4dd2ec6=fgsrcp ed382e3045=bgrcv eda2b93e18=brc edcd7f4c96=sgsrc edd05c5dd8=qgc ef12aab0ed=qgc "
    "ef8abc93e8=rsrc efd836bd3a=sgsrc f09d7fc023=rsrc f09ec770ed=rrc f0c14fd1e4=qgc f0ed1ce34f=qgc "
    "f17511254a=pgsrcp f1ec4a9802=ssrc f1f3c9700d=rgrc f23629a709=qgc f24ad08c03=igrck f2e1677f0f=bgsrc "
    "f48b4ecfbd=fgsrc f4cff361af=pgsrcp f4e7f6c02f=sgsrcv f52e84ff70=brc f53cc2712f=xgsrcp f5d246311b=qgc "
    "f626687fe1=bsrck f63f6003ec=bgsrc f69aefaece=qgc f728dce67c=brc f7e60d9d40=sgsrcv f80be3911b=qc "
    "f83bdf4f87=fgsrc f88ac9b790=ssr f9507e3d12=ssrc f991ab51ee=fgsrcvp f9eb779876=qgc f9ef1e259e=xgsrc "
    "fb25c0469a=sgsrc fb29a91cff=igrc fc829a1f84=ssrc fcbe0bfc73=bsrc fd16684b69=sgsrc fd3df050ec=sgsrc "
    "fd5b03e928=pgsrcp fd5d03806a=qgc fdc9f65c5a=brc fdd866411c=xgsrcp fde2fa07a0=xsrc fe01701a89=igrc "
    "fe98ab0db1=pgsrcp ff24b55933=qgc "
)
MARKS: dict[str, str] = dict(mark.split("=", 1) for mark in _MARKS.split())


def mark_of(session: str, turn: int) -> str:
    """How `MARKS` names a prompt."""
    return blake2b(f"{session}:{turn}".encode(), digest_size=5).hexdigest()
