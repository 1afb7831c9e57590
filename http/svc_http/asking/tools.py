"""The seven tools, each a read of the API with the person's own key. None of them changes anything.

What they give back is typed. No agent's answer and no output of a tool is in it, for these may hold instructions; words
of prompts and titles come as `quoted_data`, and every text about the tools says so.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from aggregates.scores.grades import GRADED_BYTES_MAX, PromptGrade
from aggregates.times import US_PER_DAY, US_PER_SECOND
from svc_http.asking import answers
from svc_http.asking.answers import NOTE, Found, quoted
from svc_http.asking.words import Spent, spent_by_model, state
from svc_http.pages.words import HABITS, NEXT_HABIT

Ask = Callable[[Context[Any, Any], str, dict[str, object]], Awaitable[Any]]
"""What a route of the API answers to the person who asks in this request. Raises `ToolError`."""
Grade = Callable[[Context[Any, Any], str], Awaitable[PromptGrade]]
_V3 = "/v1/score_v3"
DAYS_MAX = 366
GOALS_MAX = 50
MODELS_MAX = 200
Days = Annotated[int, Field(ge=1, le=DAYS_MAX, description="The last so many days.")]
INSTRUCTIONS = (
    "svc tells a developer how well they work with coding agents: which goals they reached, which habits their prompts "
    f"show, what it cost. These tools read the caller's own data only, and change nothing. {NOTE} Say over how many "
    "a figure is, and that it is too few to tell below ten; null is unknown, never zero."
)


def build(ask: Ask, grade: Grade, version: str) -> MCPServer[Any]:
    """The server with its tools, over a way to ask and one to grade. `version`: of svc."""
    server: MCPServer[Any] = MCPServer(
        "svc", instructions=INSTRUCTIONS, version=version, log_level="WARNING", subscriptions=False
    )
    tools = _Tools(ask, grade)
    for tool in (
        *(tools.my_day, tools.my_goals, tools.explain_goal, tools.my_habits),
        *(tools.my_limits, tools.my_cost, tools.grade_prompt),
    ):
        about = " ".join((tool.__doc__ or "").split())
        read_only = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
        server.tool(description=f"{about} {NOTE}", annotations=read_only, structured_output=True)(tool)
    return server


class _Tools:
    def __init__(self, ask: Ask, grade: Grade) -> None:
        self._ask = ask
        self._grade = grade

    async def my_day(
        self, ctx: Context[Any, Any], date: Annotated[str | None, Field(pattern=r"^\d{4}-\d\d-\d\d$")] = None
    ) -> answers.Day:
        """The caller's day in figures: goals, prompts, tokens, cost. Today, unless a date (YYYY-MM-DD) is given."""
        day = await self._ask(ctx, f"{_V3}/today-summary", {} if date is None else {"date": date})
        return answers.Day(
            date=day["date"],
            timezone=day["timezone"],
            goals=answers.rate(day),
            not_counted=day["trivia_count"],
            prompts=day["prompts"],
            prompt_grade=day["apg"],
            tokens=day["tokens"],
            cost_usd=day["cost_usd"],
            requests_without_price=day["unpriced_requests"],
            active_seconds=day["active_seconds"],
            throttled_hours=day["throttle_hours"],
        )

    async def my_goals(
        self, ctx: Context[Any, Any], limit: Annotated[int, Field(ge=1, le=GOALS_MAX)] = 10
    ) -> answers.Goals:
        """The caller's newest goals, and whether each was reached."""
        found = await self._ask(ctx, f"{_V3}/realtime/sub-sessions", {"limit": limit})
        return answers.Goals(goals=[_goal(each) for each in found])

    async def explain_goal(
        self, ctx: Context[Any, Any], id: Annotated[str, Field(pattern=r"^[0-9a-fA-F-]{36}$")]
    ) -> answers.Explained:
        """Why a goal of the caller is judged as it is. The id is one that my_goals gives."""
        goal = await self._ask(ctx, f"{_V3}/sub-sessions/{id}", {})
        why = await self._ask(ctx, f"{_V3}/sub-sessions/{id}/explain", {})
        outcome = why["outcome"]
        return answers.Explained(
            id=why["score_v3_sub_session_id"],
            title=quoted(goal["title"]),
            state=state({**goal, "is_preview": why["is_preview"], "substance_floor_passed": why["floor"]["passed"]}),
            why_it_begins_there=why["boundary"]["text"],
            whether_it_counts=why["floor"]["text"],
            prompts=why["rubric"]["text"],
            outcome=outcome["text"],
            speaks_for=[answers.Evidence(what=each["what"]) for each in outcome["evidence_for"]],
            speaks_against=[answers.Evidence(what=each["what"]) for each in outcome["evidence_against"]],
            done_again=why["rework"]["text"],
        )

    async def my_habits(self, ctx: Context[Any, Any], days: Days = 30) -> answers.Habits:
        """How often the caller's prompts show each of the seven habits, and which to practise next."""
        found = await self._ask(ctx, f"{_V3}/skill", _range(days))
        counts = found["per_boolean_counts"]
        habits = [
            answers.Habit(
                name=name,
                does=does,
                of=counts.get(name, 0),
                shown=round(found["per_boolean"][name] * counts[name]) if counts.get(name) else None,
                said_on_one_side_only=found["per_boolean_one_sided"].get(name, 0),
            )
            for name, does in HABITS.items()
        ]
        worst = found["worst_pillar"] if found["sample_count"] else None
        return answers.Habits(habits=habits, next_habit=None if worst is None else NEXT_HABIT.get(worst))

    async def my_limits(self, ctx: Context[Any, Any], days: Days = 30) -> answers.Limits:
        """What rate limits, errors of servers and outages cost the caller."""
        found = (await self._ask(ctx, "/v1/intelligence/throttle", _range(days)))["summary"]
        kinds = {str(each["detector"]): int(each["count"]) for each in found["byDetector"]}
        return answers.Limits(hours_lost=found["estimatedHoursLost"], events=found["totalEvents"], kinds=kinds)

    async def my_cost(self, ctx: Context[Any, Any], days: Days = 30) -> answers.Cost:
        """What the caller's goals cost, by model."""
        found = await self._ask(ctx, f"{_V3}/model-task", {**_range_us(days), "limit": MODELS_MAX})
        return answers.Cost(models=[_cost(model, spent) for model, spent in spent_by_model(found["items"]).items()])

    async def grade_prompt(
        self, ctx: Context[Any, Any], text: Annotated[str, Field(min_length=1, max_length=GRADED_BYTES_MAX)]
    ) -> answers.Graded:
        """Grade a prompt before it is sent: the habits it shows, and what to add. Nothing of it is stored."""
        if len(text.encode(errors="replace")) > GRADED_BYTES_MAX:
            raise refused(f"the text is longer than {GRADED_BYTES_MAX} bytes; shorten it")
        graded = await self._grade(ctx, text)
        applying = [each for each in graded.habits if each.applies]
        return answers.Graded(
            kind=graded.intent,
            score=graded.score,
            letter=graded.letter,
            shown=[HABITS[each.boolean] for each in applying if each.earned],
            missing=[NEXT_HABIT[each.boolean] for each in applying if not (each.earned or each.unsure)],
        )


def _range(days: int) -> dict[str, object]:
    now = datetime.now(UTC)
    return {"from": (now - timedelta(days=days)).isoformat(), "to": now.isoformat()}


def _range_us(days: int) -> dict[str, object]:
    """The same for routes that count days themselves."""
    now_us = int(datetime.now(UTC).timestamp() * US_PER_SECOND)
    return {"from_us": now_us - days * US_PER_DAY, "to_us": now_us}


def _goal(each: Found) -> answers.Goal:
    return answers.Goal(
        id=each["sub_session_id"],
        title=quoted(each["title"]),
        state=state(each),
        kind=each["intent_class"],
        started_at=each["started_at"],
        prompts_letter=each["letter_grade"],
        cost_usd=each["cost_usd"],
    )


def _cost(model: str, spent: Spent) -> answers.ModelCost:
    return answers.ModelCost(
        model=quoted(model),
        goals=spent.goals,
        tokens=spent.tokens,
        cost_usd=spent.cost_usd,
        cost_is_at_least=spent.at_least,
        requests_without_price=spent.requests_without_price,
    )


def refused(message: str) -> ToolError:
    """What a model is told of a refusal: a sentence of ours."""
    return ToolError(message)
