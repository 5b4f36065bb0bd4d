"""What generated data hardly ever is: real enough to get in, or hostile enough to hurt.

Schemathesis draws ids from earlier answers, leaves NUL out of paths, and takes X-Filter for any string. Left alone,
it therefore asks for what exists, and for filters that are no JSON. These hooks mix in the rest.

KNOWN is JSON: {"path": {parameter: value}, "body": {operation id: {"fields": fields, "named": field}},
"filters": {operation id: [field]}, "kept": {parameter: [value]}, "victim": {parameter: value},
"instead": {operation id: token}}.
"""

import base64
import json
import os

import schemathesis
from hypothesis import strategies as st

known = json.loads(os.environ["KNOWN"])
names = st.from_regex(r"[a-z][a-z0-9]{6,12}(-[a-z0-9]{1,12})?", fullmatch=True)

HOSTILE_NUMBERS = [0, -1, 1.5, 1e30, 2**31, 2**53 + 1, 2**63, 10**20]
HOSTILE_PATHS = ["\0", "a\0b", "%00", "%", "'--", "\u202e", "\U0010ffff", "1e3", "0x10", " 1", "null", "a" * 3000]
HOSTILE_TEXTS = [*HOSTILE_PATHS, "\ud800", "", "\\", "%_"]
hostile_values = st.sampled_from([*HOSTILE_TEXTS, *HOSTILE_NUMBERS, None, True, [], {}])


# An image, the beginning of one, one with a flipped byte, and data that are no image.
ONE_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)
places = st.integers(0, len(ONE_PIXEL) - 1)
images = st.one_of(
    st.just(ONE_PIXEL),
    places.map(lambda length: ONE_PIXEL[:length]),
    places.map(lambda at: ONE_PIXEL[:at] + bytes([ONE_PIXEL[at] ^ 255]) + ONE_PIXEL[at + 1 :]),
    st.binary(max_size=200),
)
schemathesis.openapi.media_type("image/png", images, aliases=["image/jpeg", "image/gif"])


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
    body = known["body"].get(operation_id(context))
    if body is None or not isinstance(generated, dict):
        return st.just(generated)
    fields, named = body["fields"], body.get("named")
    real = st.just(fields) if named is None else names.map(lambda name: {**fields, named: name})
    mixed = real.map(lambda body: {**generated, **body})
    described = context.operation.definition.raw["requestBody"]["content"]["application/json"]["schema"]["properties"]
    spoilt = st.tuples(real, st.sampled_from([*described]), hostile_values).map(
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


def signer(token):
    """Over whatever token the run has: what it would do to its own account must happen to another."""

    def sign(request):
        request.headers["Authorization"] = f"Bearer {token}"
        return request

    return sign


@schemathesis.hook
def before_call(context, case, kwargs):
    instead = known["instead"].get(operation_id(case))
    if instead is not None:
        kwargs["auth"] = signer(instead)
    # Ids are learnt from answers too: what the other operations read, or act with, must not be deleted, renamed,
    # suspended or restored meanwhile.
    renames = case.method.upper() == "PUT" and case.operation.path.endswith("/{username}")
    if case.method.upper() not in ("DELETE", "POST") and not renames:
        return
    for name, value in (case.path_parameters or {}).items():
        if str(value) in map(str, known["kept"].get(name, [])):
            case.path_parameters[name] = known["victim"][name]
