"""What Schemathesis must not ask of the gateway, because the document cannot say why it is refused."""

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


def says_twice(body):
    """A link beside `links` and in it, with two values."""
    if not isinstance(body, dict) or not isinstance(body.get("links"), dict):
        return False
    return any(name in body and body[name] != value for name, value in body["links"].items())


def says_nothing(context, body):
    """A turn that is committed with nothing in it: it depends on what was said before."""
    operation = context.operation
    is_commit = operation.method.upper() == "PUT" and operation.path.endswith("/turns/{key}")
    return is_commit and isinstance(body, dict) and not body.get("events")


@schemathesis.hook
def filter_body(context, body):
    return not (whole_floats(body) or says_twice(body) or says_nothing(context, body))
