"""Another language is recognised where it is sure, and only there."""

import pytest

from aggregates.scores.grades import NOT_JUDGED, grade_text

SURELY: dict[str, list[str]] = {
    "German": [
        "Warum schlägt der Test in tests/test_client.py fehl?",
        "Füge der Liste eine Suche hinzu und schreibe einen Test dafür.",
        "Der Button auf der Login-Seite ist kaputt, bitte fix das und pushe den Branch.",
    ],
    "French": [
        "Pourquoi est-ce que le test dans tests/test_client.py échoue ?",
        "Ajoute une recherche à la liste et écris un test pour ça.",
        "Le bouton de la page de login ne marche pas, corrige ça avec un commit.",
    ],
    "Spanish": [
        "¿Por qué falla la prueba de tests/test_client.py?",
        "Añade una búsqueda a la lista y escribe una prueba para eso.",
        "El botón de la página de login no funciona, arréglalo en el branch.",
    ],
    "Portuguese": [
        "Por que o teste em tests/test_client.py está falhando?",
        "Adicione uma busca na lista e escreva um teste para isso.",
        "O botão da página de login não funciona, corrija isso no branch.",
    ],
    "Korean": [
        "tests/test_client.py 테스트가 왜 실패하나요?",
        "목록에 검색 기능을 추가하고 테스트를 작성해 주세요.",
        "로그인 페이지의 버튼이 동작하지 않아요. fix 해서 push 해 주세요.",
    ],
    "Japanese": [
        "tests/test_client.py のテストはなぜ失敗しますか?",
        "リストに検索を追加して、テストを書いてください。",
        "ログインページのボタンが動きません。直して push してください。",
    ],
    "Chinese": [
        "tests/test_client.py 里的测试为什么失败?",
        "给列表添加搜索功能,并为它写一个测试。",
        "登录页面的按钮坏了,请修复并 push 到 branch。",
    ],
    "Russian": [
        "Почему падает тест в tests/test_client.py?",
        "Добавь поиск в список и напиши для него тест.",
        "Кнопка на странице login не работает, исправь и сделай commit.",
    ],
}
ENGLISH = [
    "Rename the column naïve_score to score in src/report.py",
    "Why does the name Müller break the import?",
    "The label should say “Größe”, not “Size”",
    "Translate the button “Continuer” back to “Continue” in fr.json",
    "add 日本語 to the list of languages in src/locale.ts",
    "fix the café page → it returns 404",
    "Show the price as 3 € in the cart",
    "Let's merge de.json and es.json into one file",
]


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, texts in SURELY.items() for text in texts])
def test_a_prompt_of_another_language_has_no_figure(language: str, text: str) -> None:
    graded = grade_text(text)
    assert (language, graded.status, graded.reason, graded.letter) == (language, "unclassified", "language", None)
    assert graded.verdict == NOT_JUDGED["language"]


@pytest.mark.parametrize("text", ENGLISH)
def test_english_with_foreign_words_is_judged(text: str) -> None:
    """Names, quotes and signs make no other language."""
    assert grade_text(text).status == "ok"
