"""What holds for every toolkit, every toolspec and every call."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from tests.unit.core.policy.commandline import anytoolkit
from tests.unit.core.policy.commandline.commandlines import NOTHING, command, named, slot
from tests.unit.core.policy.deciding import decisions
from tests.unit.core.policy.deciding.decisions import GIT, toolspec
from toolcall_operator.api.effects import Effects
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkitSpec
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspecSpec
from toolcall_operator.core.policy.cel import programs
from toolcall_operator.core.policy.cel.programs import Kind
from toolcall_operator.core.policy.commandline import parser
from toolcall_operator.core.policy.commandline.values import CommandLine
from toolcall_operator.core.policy.deciding import candidates, decision, explanation
from toolcall_operator.core.policy.deciding.decision import Judgement, Outcome
from toolcall_operator.core.policy.loading.toolkits import Toolkit
from toolcall_operator.core.policy.loading.toolspecs import Toolspec

BOUNDED = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])

TEMPLATES = st.sampled_from(
    (
        "x.example",
        "/work",
        "{flag:name}",
        "{flag:n|host}",
        "{positional:slot0|or:.}",
        "{positional:slot1|host}",
        "{env:A}",
    )
)
CATEGORIES = st.lists(st.sampled_from(("network", "filesystem")), unique=True)
EFFECTS = st.fixed_dictionaries(
    {
        "destructive": st.booleans(),
        "reads": CATEGORIES,
        "writes": CATEGORIES,
        "network": st.fixed_dictionaries({"destinations": st.lists(TEMPLATES, max_size=2)}),
        "filesystem": st.fixed_dictionaries({"paths": st.lists(TEMPLATES, max_size=2)}),
        "creds": st.fixed_dictionaries({"required": st.sampled_from(((), ("TOKEN",)))}),
    }
).map(Effects.model_validate)
CONSTRAINTS = tuple(
    programs.compiled(source, Kind.BOOL)
    for source in (
        "true",
        "config.missing",
        "call.flag('name') == ''",
        "call.positional.slot0 == call.flags.name",
        "call.argv.all(a, call.argv.exists(b, b.startsWith(a)))",
        "call.effects.filesystem.paths.all(each, path.isUnder(each, '/work'))",
    )
)
BOUND = st.fixed_dictionaries(
    {},
    optional={
        "network": st.fixed_dictionaries({"destinations": st.sampled_from(((), ("x.example", "a")))}),
        "filesystem": st.fixed_dictionaries({"pathsUnder": st.sampled_from(((), ("/work", "/workspace")))}),
        "creds": st.fixed_dictionaries({"required": st.sampled_from(((), ("TOKEN",)))}),
    },
)


@st.composite
def policies_of(draw: st.DrawFn, spec: SpiceboxToolkitSpec) -> Toolspec:
    """A toolspec over a toolkit whose subcommands do anything."""
    subcommands = tuple(each.model_copy(update={"effects": draw(EFFECTS)}) for each in spec.subcommands)
    kit = Toolkit.of("kit", spec.model_copy(update={"subcommands": subcommands}))
    names = sorted({each.name for each in subcommands})
    full = SpiceboxToolspecSpec.model_validate(
        {
            "name": "policy",
            "version": "1",
            "toolkit": {"name": "tool", "revision": "1"},
            "allowSubcommands": draw(st.sampled_from((names, names, []))),
            "allow": draw(BOUND),
            "constraints": [{"cel": "true"}] * len(CONSTRAINTS),
        }
    )
    constraints = draw(st.lists(st.sampled_from(CONSTRAINTS), max_size=2))
    return Toolspec("policy", full, kit, tuple(constraints), {}, frozenset())


def allows_nothing(found: Judgement) -> bool:
    """Whether a list that the call has to do with is empty."""
    spec, effects = found.toolspec.spec, found.effects
    assert effects is not None
    return (
        not spec.allow_subcommands
        or (spec.allow.network.destinations == () and bool(effects.destinations.all()))
        or (spec.allow.filesystem.paths_under == () and bool(effects.paths.all()))
        or (spec.allow.creds.required == () and bool(effects.described.creds.required))
    )


@BOUNDED
@given(st.data(), anytoolkit.toolkits(), st.integers(0, 2**32), st.sampled_from(({}, {"A": "x.example"})))
def test_every_call_is_judged_and_none_is_allowed_by_an_empty_list(
    data: st.DataObject, spec: SpiceboxToolkitSpec, seed: int, env: dict[str, str]
) -> None:
    policy = data.draw(policies_of(spec))
    for argv in anytoolkit.lines(spec, seed):
        found = decisions.judged(policy, *argv, env=env)

        event("not understood" if found.effects is None else "denied" if found.denial else "allowed")
        assert found.denial is None or is_fit(found.denial.reason)
        assert all(is_fit(step.detail) for step in found.trace)
        if found.denial is None:
            assert not allows_nothing(found)
            assert all(step.outcome is not Outcome.DENIED for step in found.trace)


def is_fit(text: str) -> bool:
    """Whether a text can stand in a status."""
    return len(text) <= 512 and text.isprintable()


# Secrets --------------------------------------------------------------------------------------------------------------
VAULT: dict[str, Any] = {
    "name": "vault",
    "toolkitRevision": "1",
    "version": "1",
    "target": {"binary": "vault"},
    "parser": {"kind": "declarative", "attachedValues": True},
    "env": {"allowed": [{"name": "KNOWN", "sensitive": True, "credential": "known"}, {"name": "TOLD"}]},
    "globalFlags": [named("--password -p", "string", sensitive=True), named("--name", "stringList", splitOn=",")],
    "subcommands": [
        command(
            "open",
            named("--level", "enum", values=["a"]),
            slot("where", "string"),
            slot("keys", "stringList"),
            effects={
                **NOTHING,
                "reads": ["network", "filesystem"],
                "network": {"destinations": ["{positional:where|host|or:a.example}", "{env:KNOWN}", "{env:TOLD}"]},
                "filesystem": {"paths": ["/x/{flag:password}", "{positional:keys}/{flag:name}"]},
            },
        ),
        command("", slot("keys", "stringList"), effects=NOTHING),
    ],
}
_MORE: tuple[dict[str, Any], ...] = (
    {},
    {"allow": {"network": {"destinations": []}}},
    {"allow": {"filesystem": {"pathsUnder": ["/work"]}}},
    {"constraints": [{"cel": "call.flags.password in config", "message": "no"}]},
    {"constraints": [{"cel": "config[call.positional.where]"}]},
    {"constraints": [{"cel": "int(call.env.TOLD) == call.positional.keys.map(each, int(each))[0]"}]},
    {"constraints": [{"cel": "call.positional.keys.all(each, 'x'.matches(each))"}]},
    {"constraints": [{"cel": "timestamp(call.env.KNOWN) < now()"}]},
    {"constraints": [{"cel": "{call.env.KNOWN: 1}.b == 1"}]},
)
POLICIES = tuple(
    toolspec(VAULT, sensitive={"env": ["TOLD"], "flags": ["name"], "positional": ["where", "keys"]}, **more)
    for more in _MORE
)
SECRETS = st.text(min_size=4, max_size=90) | st.text(st.sampled_from("Zq~=-/.,:@Ü"), min_size=4, max_size=200)
FORMS = (
    ("open", "--password={0}", "{1}", "{2}"),
    ("-p{0}", "--name", "{1}", "open", "https://{2}/x", "{3}"),
    ("open", "--bogus", "{0}", "{1}"),
    ("open", "{0}", "{1}", "--level", "b"),
    ("--password", "{0}", "{1}"),
    ("{0}", "{1}"),
    ("open", "--", "{0}", "{1}", "--", "{2}"),
    ("open", "--level=a", "{0}", "--password"),
)


def texts(policy: Toolspec, form: tuple[str, ...], values: list[str]) -> list[str]:
    """Everything that is told of a call with these values."""
    env = {"KNOWN": values[4], "TOLD": values[5]}
    call = decisions.invocation("vault", *(text.format(*values) for text in form), env=env, given=frozenset(env))
    found = candidates.decide("vault", [policy], lambda _toolspec: call)
    told = [explanation.text(found)]
    if isinstance(found, candidates.Denied):
        event(f"denied: {found.failures[0].path}")
        told += [found.message, *(f"{each.reason} {each.message}" for each in found.failures)]
    return told


@BOUNDED
@given(st.lists(SECRETS, min_size=6, max_size=6), st.sampled_from(FORMS), st.sampled_from(POLICIES))
def test_no_sensitive_value_stands_in_any_text(secrets: list[str], form: tuple[str, ...], policy: Toolspec) -> None:
    without = " ".join(texts(policy, form, ["①", "②", "③", "④", "⑤", "⑥"]))
    assume(not any(value in without or value in '<redacted id="0123456789"/>' for value in secrets))
    used = {*secrets[4:], *(secrets[number] for number in range(4) if f"{{{number}}}" in " ".join(form))}

    told = texts(policy, form, secrets)

    assert not [secret for secret in used for text in told if secret in text]


def test_a_number_that_is_sensitive_is_not_shown_either() -> None:
    policy = toolspec(decisions.READER, constraints=[{"cel": "false"}], sensitive={"flags": ["limit"]})

    found = candidates.decide(
        "reader", [policy], lambda _: decisions.invocation("reader", "--limit", "98765", "--pin", "43210")
    )

    assert "98765" not in explanation.text(found)
    assert "43210" not in explanation.text(found)


def test_what_was_read_is_what_the_decision_is_about() -> None:
    found = decisions.judged(toolspec(GIT), "status", "--short")

    assert isinstance(found.line, CommandLine)
    assert found.line == parser.parse(found.toolspec.toolkit.grammar, ["status", "--short"])
    assert found.denial is None
    assert decision.judge(found.toolspec, found.invocation).trace == found.trace
