"""Abstract labels of work: which kind, what it was about, how it was gone about; every word of them stands here.

A text model that writes about a day gets nothing but these, so whatever a prompt held, no word of it can leave.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from aggregates.reading.verdicts import Intent
from aggregates.turns.turn import API_ERROR, CHECK_FAILED, CHECK_OK, INTERRUPTED, Turn

TEXT_CHARACTERS_MAX = 4_000
"""Of one prompt: what it is about is said early."""
TOPICS_MAX = 2
LABELS_MAX = 8
MEMBERS_MAX = 20

KINDS: dict[Intent, str] = {
    "question": "getting a question answered",
    "investigation": "finding out a cause",
    "review": "reviewing work",
    "plan": "planning",
    "small_change": "making a small change",
    "bug_fix": "fixing a bug",
    "feature": "building something new",
    "refactor": "restructuring code",
}

TOPICS: dict[str, frozenset[str]] = {
    topic: frozenset(words.split())
    for topic, words in {
        "tests": "test tests testing pytest jest vitest junit coverage fixture flaky 테스트",
        "documentation": "readme docs documentation docstring changelog 문서",
        "the user interface": "ui button css layout page screen component "
        "modal form frontend react vue 화면 버튼 디자인",
        "an interface between programs": "api endpoint route rest graphql grpc webhook http 엔드포인트",
        "data storage": "database db sql sqlite postgres mysql migration "
        "schema query table index 데이터베이스 쿼리 테이블",
        "signing in and permissions": "auth login logout oauth session password permission role sso 로그인 인증 권한",
        "security": "security vulnerability csrf xss injection encryption 보안 취약점",
        "payments": "payment invoice billing checkout subscription refund 결제 청구",
        "performance": "performance slow latency cache memory profile optimize 성능 캐시 최적화",
        "builds and deployment": "deploy deployment docker kubernetes ci pipeline build release terraform 배포 빌드",
        "configuration": "config configuration settings environment flag yaml toml 설정",
        "dependencies": "dependency dependencies upgrade package npm pip lockfile 의존성 패키지",
        "logs and monitoring": "log logs logging metrics monitoring alert telemetry tracing 로그 모니터링",
        "dates and times": "date dates timezone calendar timestamp 날짜 시간대",
        "data processing": "parser parse csv json import export etl batch 파싱 변환",
        "machine learning": "model training inference embedding prompt llm dataset 모델 학습",
    }.items()
}
CHECKED, COMMITTED = "with checks run", "with a commit"
_WORD = re.compile(r"[a-z]+|[가-힣]+")


class WorkLabels(msgspec.Struct, frozen=True):
    """The labels of some members, in an order that means nothing."""

    members: tuple[tuple[str, ...], ...]
    clipped: bool
    """Whether the least busy members, or rarest labels, were left out."""


NO_WORK = WorkLabels((), clipped=False)


def label(intent: Intent, text: str | None, marks: str) -> str:
    """What one sub-session was: of its intent, of the prompt that says what is wanted, of the marks of its work."""
    parts = [KINDS[intent]]
    about = topics(text or "")
    if about:
        parts.append("in " + " and ".join(about))
    how = [said for mark, said in (("K", CHECKED), ("M", COMMITTED)) if mark in marks]
    return " ".join([*parts, *how])


def topics(text: str) -> list[str]:
    """What a text is about, the most often named first."""
    words = Counter(_WORD.findall(text[:TEXT_CHARACTERS_MAX].lower()))
    weights = {topic: sum(words[word] for word in known) for topic, known in TOPICS.items()}
    found = sorted((topic for topic, weight in weights.items() if weight), key=lambda topic: -weights[topic])
    return found[:TOPICS_MAX]


def work_labels(of_members: Iterable[Iterable[str]]) -> WorkLabels:
    """Each label once, so that nothing tells how much there was; the busiest, where there are too many."""
    busy = sorted((Counter(each) for each in of_members), key=lambda each: -each.total())
    counted = [each for each in busy if each]
    kept = [tuple(sorted(name for name, _ in each.most_common(LABELS_MAX))) for each in counted[:MEMBERS_MAX]]
    clipped = len(counted) > MEMBERS_MAX or any(len(each) > LABELS_MAX for each in counted)
    return WorkLabels(tuple(sorted(kept)), clipped)


# The arithmetic of the insights payload (scoring.md, section 10): of a sub-session, and of when things happened.


def corrected(turns: Sequence[Turn]) -> bool:
    """Whether a later prompt of a sub-session corrects what was done, or says that it does not work."""
    return any(t.prompt is not None and (t.prompt.corrects or t.prompt.reports_failure) for t in turns[1:])


def had_friction(turns: Sequence[Turn]) -> bool:
    """An API error, a failed last check, a correction or an interruption; what was not observed does not count."""
    marks = "".join(turn.work.marks for turn in turns)
    check_fails = marks.rfind(CHECK_FAILED) > marks.rfind(CHECK_OK)
    return API_ERROR in marks or INTERRUPTED in marks or check_fails or corrected(turns)


def times_at_once(spans: Iterable[tuple[str, int, int]]) -> int:
    """How often a second agent session became active while one was: (session, start, end) of each turn."""
    edges = sorted(
        edge
        for session, start_us, end_us in spans
        if start_us < end_us
        for edge in ((start_us, 1, session), (end_us, 0, session))
    )
    active: Counter[str] = Counter()
    times = 0
    for _, begins, session in edges:
        before = len(active)
        active[session] += 1 if begins else -1
        active = +active
        times += before == 1 and len(active) == 2
    return times
