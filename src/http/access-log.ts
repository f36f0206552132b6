// One line for each outer request. Neither bodies nor credentials get here.
import type { Logger } from '../contracts/logger.ts';
import type { ServiceRequest, ServiceResponse } from '../engine/exchange.ts';

export interface Summary {
  readonly request: ServiceRequest;
  readonly response: ServiceResponse;
  readonly userId: string | undefined;
  readonly milliseconds: number;
}

/** Addresses whose queries hold what logs must not: the codes and states of logins. */
const confidential = /\/openid\//;

/** Logs what was asked and how it was answered. */
export function logSummary(logger: Logger, { request, response, userId, milliseconds }: Summary): void {
  const mark = request.target.indexOf('?');
  const isShown = mark !== -1 && !confidential.test(request.target.slice(0, mark));
  logger.info(
    {
      method: request.method,
      path: mark === -1 ? request.target : request.target.slice(0, mark),
      ...(isShown ? { querystring: request.target.slice(mark + 1) } : {}),
      code: response.status,
      t: Math.round(milliseconds),
      rid: request.id,
      uid: userId,
      agent: request.headers['user-agent'],
    },
    'request.summary',
  );
}
