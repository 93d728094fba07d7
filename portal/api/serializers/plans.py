"""Plans with their steps, and moves."""

from rest_framework import serializers

from allocations.models import Move, Plan, PlanStep


class PlanOut(serializers.Serializer):
    """A plan. `why`: reason codes and numbers; the counts say how far its moves are; `generation` null: a proposal."""

    id = serializers.UUIDField(source="public_id")
    purpose = serializers.ChoiceField(choices=Plan.Purpose.choices)
    grant = serializers.UUIDField(source="grant.public_id", allow_null=True, default=None)
    inverse_of = serializers.UUIDField(source="inverse_of.public_id", allow_null=True, default=None)
    base_generation = serializers.IntegerField()
    generation = serializers.IntegerField(allow_null=True)
    short_gpus = serializers.IntegerField()
    moving_gpus = serializers.IntegerField()
    open_gpus = serializers.IntegerField()
    done_gpus = serializers.IntegerField()
    failed_gpus = serializers.IntegerField()
    superseded_gpus = serializers.IntegerField()
    undone = serializers.BooleanField()
    why = serializers.JSONField()
    proposed_by = serializers.CharField(source="proposed_by.username")
    proposed_at = serializers.DateTimeField()
    committed_by = serializers.CharField(source="committed_by.username", allow_null=True, default=None)
    committed_at = serializers.DateTimeField(allow_null=True)


class PlanStepOut(serializers.Serializer):
    """What the plan says about one GPU; `to` empty: nobody."""

    gpu = serializers.CharField(source="gpu.uuid", allow_null=True)
    node = serializers.CharField(source="gpu.node.name")
    kind = serializers.ChoiceField(choices=PlanStep.Kind.choices)
    source = serializers.CharField()
    from_holder = serializers.CharField()
    to = serializers.CharField(source="project.slug", default="")


class PlanWithStepsOut(PlanOut):
    """One plan with its steps. Send `target_generation` back when you commit: it says which state you saw."""

    target_generation = serializers.IntegerField()
    steps = PlanStepOut(many=True)


class CommitIn(serializers.Serializer):
    """The target's generation that you saw."""

    generation = serializers.IntegerField(min_value=0)


class MoveOut(serializers.Serializer):
    """One GPU on its way. `running`: processes that the drain still waits for; `fault`: why the last call failed."""

    id = serializers.IntegerField()
    plan = serializers.UUIDField(source="plan.public_id")
    gpu = serializers.CharField(source="gpu.uuid", allow_null=True)
    node = serializers.CharField(source="gpu.node.name")
    from_holder = serializers.CharField()
    to = serializers.CharField(source="to_holder")
    grant = serializers.UUIDField(source="grant.public_id", allow_null=True, default=None)
    generation = serializers.IntegerField()
    state = serializers.ChoiceField(choices=Move.State.choices)
    running = serializers.IntegerField(allow_null=True)
    fault = serializers.CharField()
    proposed_at = serializers.DateTimeField()
    draining_at = serializers.DateTimeField(allow_null=True)
    switched_at = serializers.DateTimeField(allow_null=True)
    done_at = serializers.DateTimeField(allow_null=True)
    failed_at = serializers.DateTimeField(allow_null=True)
    superseded_at = serializers.DateTimeField(allow_null=True)
