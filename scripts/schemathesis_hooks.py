"""Where our rules are stricter than JSON Schema can say."""

import schemathesis


@schemathesis.hook
def map_body(context, body):
    """JSON Schema counts 500.0 as an integer; for money we do not."""
    if isinstance(body, dict):
        budget = body.get("budget_cents")
        if isinstance(budget, float) and budget.is_integer():
            body["budget_cents"] = int(budget)
    return body
