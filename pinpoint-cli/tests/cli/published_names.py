"""A client of published workflows, in another SDK.

Reads a question as JSON from standard input, and writes the answer as JSON to standard
output:

    {"do": "start", "workflow": NAME, "id": ID, "queue": QUEUE, "input": ANY}
    {"do": "cancel", "id": ID}
    {"do": "result", "id": ID}

The result is {"encoding", "message_type", "body"} or {"failure", "type"}. With
"notices": QUEUE it also has the input of the `perf.process_culprit` that was started there.
"""

import asyncio
import json
import os
import sys

from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

notices = asyncio.Queue()


@workflow.defn(name="perf.process_culprit")
class ProcessCulprit:
    @workflow.run
    async def run(self, parameters: dict) -> dict:
        notices.put_nowait(parameters)
        return {"CulpritIds": [], "IssueIds": []}


async def result(client, question):
    handle = client.get_workflow_handle(question["id"], result_type=RawValue)
    try:
        payload = (await handle.result()).payload
    except WorkflowFailureError as error:
        cause = error.cause
        if isinstance(cause, CancelledError):
            return {"failure": str(cause), "type": "CancelledError"}
        assert isinstance(cause, ApplicationError), repr(cause)
        return {"failure": cause.message, "type": cause.type, "lasting": cause.non_retryable}
    answer = {name: value.decode() for name, value in payload.metadata.items()}
    answer["body"] = json.loads(payload.data)
    if queue := question.get("notices"):
        worker = Worker(
            client,
            task_queue=queue,
            workflows=[ProcessCulprit],
            workflow_runner=UnsandboxedWorkflowRunner(),
        )
        async with worker:
            answer["notice"] = await notices.get()
    return answer


async def main():
    question = json.load(sys.stdin)
    client = await Client.connect(question["address"], namespace=question["namespace"])
    match question["do"]:
        case "start":
            await client.start_workflow(
                question["workflow"],
                question["input"],
                id=question["id"],
                task_queue=question["queue"],
            )
            answer = {}
        case "cancel":
            await client.get_workflow_handle(question["id"]).cancel()
            answer = {}
        case "result":
            answer = await result(client, question)
    json.dump(answer, sys.stdout)


asyncio.run(main())
sys.stdout.flush()
# Threads of the SDK may crash an interpreter that is about to end.
os._exit(0)
