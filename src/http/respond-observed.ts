// The way of an outer request past those who observe it. With nobody there it is the runner's alone.
import type { Observer } from '../contracts/observer.ts';
import type { ServiceRequest, ServiceResponse } from '../engine/exchange.ts';
import { CompletedOuterRequest } from './observed-request.ts';
import { runRequest, type Answer, type RunnerOptions } from './runner.ts';

/** Answers a request, and lets observers know. */
export function respond(runner: RunnerOptions, request: ServiceRequest): Promise<ServiceResponse> {
  const { observer } = runner;
  return observer === undefined
    ? runRequest(runner, request).then(({ response }) => response)
    : observed(observer, request, () => runRequest(runner, request));
}

/** Refuses what does not get as far as the runner, and lets observers know. */
export async function respondWithRefusal(
  { observer, dispatcher }: RunnerOptions,
  request: ServiceRequest,
  error: unknown,
): Promise<ServiceResponse> {
  const response = dispatcher.refuse(request, error);
  if (observer === undefined) return response;
  return observed(observer, request, () => Promise.resolve({ response, userId: undefined, note: undefined }));
}

async function observed(
  observer: Observer,
  request: ServiceRequest,
  run: () => Promise<Answer>,
): Promise<ServiceResponse> {
  const startedAt = performance.now();
  const work = async (): Promise<CompletedOuterRequest> => {
    const answer = await run();
    return new CompletedOuterRequest(request, answer.response, answer, startedAt);
  };
  const { method, headers } = request;
  const answered = await (observer.enclose?.({ kind: 'request', method, headers }, work) ?? work());
  observer.observe(answered);
  return answered.response;
}
