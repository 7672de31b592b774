"""Calls a service with stubs made of its `.proto` files: ADDRESS TOKEN AUTHORITY."""

import sys

import grpc
from pinpoint.v1 import gateway_pb2, gateway_pb2_grpc, service_pb2, service_pb2_grpc

address, token, authority = sys.argv[1:]
with open(authority, "rb") as file:
    transport = grpc.ssl_channel_credentials(file.read())
caller = grpc.access_token_call_credentials(token)


def code_of(call, request):
    try:
        call(request, timeout=240)
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


with grpc.secure_channel(address, transport) as stranger:
    gateway = gateway_pb2_grpc.PinpointGatewayStub(stranger)
    refused = code_of(gateway.GetUserInfo, gateway_pb2.GetUserInfoRequest())
    assert refused == grpc.StatusCode.UNAUTHENTICATED, refused

credentials = grpc.composite_channel_credentials(transport, caller)
with grpc.secure_channel(address, credentials) as channel:
    gateway = gateway_pb2_grpc.PinpointGatewayStub(channel)
    pinpoint = service_pb2_grpc.PinpointStub(channel)
    user = gateway.GetUserInfo(gateway_pb2.GetUserInfoRequest(), timeout=240)
    assert user.email == "ada@example.org", user

    request = gateway_pb2.CreateTryJobRequest(
        benchmark="parsing",
        configuration="lab",
        story="small",
        base=gateway_pb2.VariantConfig(commit="a" * 40),
        experiment=gateway_pb2.VariantConfig(
            commit="b" * 40,
            extra_args=gateway_pb2.ExtraArgs(benchmark_runner_args="--repeat=2"),
        ),
        attempt_count=10,
        bug_id=1234,
    )
    # Made once, however often it is asked for.
    once = [("idempotency-key", "k")]
    tried = gateway.CreateTryJob(request, timeout=240, metadata=once)
    assert gateway.CreateTryJob(request, timeout=240, metadata=once) == tried
    job = gateway.QueryJobList(gateway_pb2.QueryJobListRequest(), timeout=240).jobs[0]
    assert (job.job_id, job.bug_id) == (tried.job_id, 1234), job
    assert job.job_type == gateway_pb2.JOB_TYPE_TRY, job
    assert job.job_status == gateway_pb2.JOB_STATUS_QUEUED, job
    queried = pinpoint.QueryPairwise(
        service_pb2.QueryPairwiseRequest(job_id=tried.job_id), timeout=240
    )
    assert queried.status == service_pb2.PAIRWISE_JOB_STATUS_RUNNING, queried

    request.experiment.extra_args.js_flags = "--x"
    refused = code_of(gateway.CreateTryJob, request)
    assert refused == grpc.StatusCode.INVALID_ARGUMENT, refused
    unknown = service_pb2.QueryBisectRequest(job_id="0199f3c1-a2b3-7f0e-8d1c-2b3a49586776")
    assert code_of(pinpoint.QueryBisection, unknown) == grpc.StatusCode.NOT_FOUND

    ended = pinpoint.CancelJob(
        service_pb2.CancelJobRequest(job_id=tried.job_id, reason="r"), timeout=240
    )
    assert ended.state == "Canceled", ended

print("passed")
