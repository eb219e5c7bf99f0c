"""What Schemathesis must not ask of the gateway, because the document cannot say why it is refused."""

import unicodedata

import schemathesis


def whole_floats(value):
    """Numbers such as 1.0: whole numbers to JSON Schema, none to the gateway, where an issue is 1 and never 1.0."""
    if isinstance(value, float):
        return value.is_integer()
    if isinstance(value, dict):
        return any(whole_floats(v) for v in value.values())
    if isinstance(value, list):
        return any(whole_floats(v) for v in value)
    return False


def texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (key, *texts(inner))
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from texts(inner)


def unassigned(value):
    """Characters that Unicode has given no meaning yet: hidden to the document, visible to Schemathesis."""
    return any(unicodedata.category(char) == "Cn" for text in texts(value) for char in text)


def says_twice(body):
    """A link beside `links` and in it, with two values: the document cannot say that fields agree with each other."""
    links = body.get("links")
    if not isinstance(links, dict):
        return False
    labels, inside = body.get("labels"), links.get("labels")
    if isinstance(labels, dict) and isinstance(inside, dict):
        if any(inside.get(key, value) != value for key, value in labels.items()):
            return True
    beside = {key: value for key, value in body.items() if key not in ("links", "labels")}
    return any(value is not None and links.get(key) not in (None, value) for key, value in beside.items())


def says_nothing(case):
    """A turn without events: a commit takes it if some were appended before, which the document cannot say."""
    is_commit = case.method.upper() == "PUT" and case.path.endswith("/turns/{turn_key}")
    return is_commit and not case.body.get("events")


@schemathesis.hook
def filter_body(context, body):
    return not whole_floats(body)


@schemathesis.hook
def filter_case(context, case):
    if unassigned(dict(case.query or {})) or unassigned(case.body):
        return False
    return not isinstance(case.body, dict) or not (says_twice(case.body) or says_nothing(case))
