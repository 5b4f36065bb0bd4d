"""What generated data hardly ever is: real enough to get in, or hostile enough to hurt.

Schemathesis draws ids from earlier answers, leaves NUL out of paths, and takes X-Filter for any string. Left alone,
it therefore asks for what exists, and for filters that are no JSON. These hooks mix in the rest.

KNOWN is JSON: {"path": {parameter: value}, "body": {operation id: fields}, "filters": {operation id: [field]},
"kept": id, "victim": id}.
"""

import json
import os

import schemathesis
from hypothesis import strategies as st

known = json.loads(os.environ["KNOWN"])
labels = st.from_regex(r"[a-z][a-z0-9-]{6,24}[a-z0-9]", fullmatch=True)

HOSTILE_NUMBERS = [0, -1, 1.5, 1e30, 2**31, 2**53 + 1, 2**63, 10**20]
HOSTILE_PATHS = ["\0", "a\0b", "%00", "%", "'--", "\u202e", "\U0010ffff", "1e3", "0x10", " 1", "null", "a" * 3000]
HOSTILE_TEXTS = [*HOSTILE_PATHS, "\ud800", "", "\\", "%_"]
hostile_values = st.sampled_from([*HOSTILE_TEXTS, *HOSTILE_NUMBERS, None, True, [], {}])


def operation_id(context):
    return context.operation.definition.raw.get("operationId")


@schemathesis.hook
def flatmap_path_parameters(context, generated):
    if not generated:
        return st.just(generated)
    real = {**generated, **{name: value for name, value in known["path"].items() if name in generated}}
    hostile = st.sampled_from([*HOSTILE_PATHS, *map(str, HOSTILE_NUMBERS)]) | st.text(min_size=1, max_size=20).filter(
        lambda text: text.isprintable() and text not in (".", "..")
    )
    return st.one_of(st.just(generated), st.just(real), st.fixed_dictionaries({name: hostile for name in generated}))


@schemathesis.hook
def flatmap_body(context, generated):
    fields = known["body"].get(operation_id(context))
    if fields is None or not isinstance(generated, dict):
        return st.just(generated)
    real = labels.map(lambda label: {**fields, "label": label})
    mixed = real.map(lambda body: {**generated, **body})
    spoilt = st.tuples(real, st.sampled_from([*fields, "label", "allow_list"]), hostile_values).map(
        lambda parts: {**parts[0], parts[1]: parts[2]}
    )
    return st.one_of(st.just(generated), real, mixed, spoilt)


@schemathesis.hook
def flatmap_headers(context, generated):
    fields = known["filters"].get(operation_id(context))
    if fields is None:
        return st.just(generated)
    values = hostile_values | st.text(max_size=8) | st.just("2026-01-01T00:00:00")
    operators = st.sampled_from(["+gt", "+gte", "+lt", "+lte", "+contains", "+neq", "+or"])
    field = st.dictionaries(st.sampled_from(fields), values | st.dictionaries(operators, values, max_size=2), max_size=2)
    ordered = st.fixed_dictionaries({"+order_by": st.sampled_from(fields), "+order": st.sampled_from(["asc", "desc"])})
    nested = st.dictionaries(st.sampled_from(["+and", "+or"]), st.lists(field, max_size=3), max_size=1)
    filters = st.one_of(field, ordered, nested).map(lambda each: {**(generated or {}), "X-Filter": json.dumps(each)})
    return st.just(generated) | filters


@schemathesis.hook
def before_call(context, case, kwargs):
    # Ids are learnt from answers too: what the other operations read must not be deleted, suspended or restored under them.
    instance = (case.path_parameters or {}).get("instanceId")
    changes = case.method.upper() in ("DELETE", "POST")
    if changes and str(instance) == str(known["kept"]):
        case.path_parameters["instanceId"] = known["victim"]
