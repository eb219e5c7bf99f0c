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


@schemathesis.hook
def filter_body(context, body):
    return not whole_floats(body)
