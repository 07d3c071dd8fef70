"""Run a step for its partitions: what exists is taken over, the rest is given to the compute."""

from collections.abc import Callable, Collection, Mapping

from warehouse.compute.task import Compute
from warehouse.steps.files import BuildFile
from warehouse.steps.step import Input, Step
from warehouse.steps.store import StepStore


def run_step(
    step: Step,
    partitions: Mapping[str, Mapping[str, Input]],
    store: StepStore,
    compute: Compute,
    prepare: Callable[[Collection[str]], None] = lambda _: None,
) -> list[BuildFile]:
    """Return the files of a step for every partition, made now or found by their keys.

    ``partitions`` are the inputs of each. ``prepare`` is told for which partitions the step has to
    be run, before that: it writes the inputs that exist for no other purpose.
    """
    keys = {partition: step.key(partition, inputs) for partition, inputs in partitions.items()}
    missing = [name for name, key in keys.items() if store.files(key, name) is None]
    if missing:
        prepare(missing)
        compute.run(
            [step.task(name, partitions[name], store.folder(keys[name])) for name in missing]
        )
    files: list[BuildFile] = []
    for partition, key in sorted(keys.items()):
        made = store.files(key, partition)
        if made is None:
            raise FileNotFoundError(
                f"step {step.name}, partition {partition}: the task ended without its files"
            )
        files += made
    return files
