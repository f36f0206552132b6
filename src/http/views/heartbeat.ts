// Health: `/__heartbeat__` really writes to and reads from each backend, `/__lbheartbeat__` only says that the process
// answers.
import type { Logger } from '../../contracts/logger.ts';
import type { Context } from '../../engine/context.ts';
import { describeDocument, type OperationDescription } from '../../engine/description.ts';
import { forReading, type Endpoint } from '../../engine/endpoint.ts';
import type { Reader } from '../../engine/unit-of-work.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';

/** Resolves to whether the thing is healthy; a check that throws, or takes too long, counts as unhealthy. */
export type HealthCheck = (options: HealthCheckOptions) => Promise<boolean | null>;

export interface HealthCheckOptions {
  /**
   * Whether the request, as an entry of a batch, holds the right to write itself. A check that waited for it would wait
   * for its own end, and keep everybody else from writing.
   */
  readonly isWriting: boolean;
  /** Reads without waiting. */
  readonly reader: Reader;
}

export interface HeartbeatOptions {
  /** By the name shown in the answer. */
  readonly checks: ReadonlyMap<string, HealthCheck>;
  /** For each check, in seconds. */
  readonly timeoutSeconds: number;
  readonly retryAfterSeconds: number;
  readonly logger: Logger;
}

export function heartbeatEndpoints(options: HeartbeatOptions): readonly Endpoint[] {
  const check = ({ unit }: Context): Promise<ServiceResponse> => checkAll(options, unit);
  const alive = (): Promise<ServiceResponse> => Promise.resolve(jsonResponse(200, {}));
  return [
    {
      name: 'heartbeat',
      path: '/__heartbeat__',
      isResource: false,
      ignoresCaller: true,
      isForOperators: true,
      operations: forReading('__heartbeat__', { handle: check, describe: describeHeartbeat }),
    },
    {
      name: 'lbheartbeat',
      path: '/__lbheartbeat__',
      isResource: false,
      ignoresCaller: true,
      isVital: true,
      operations: forReading('__lbheartbeat__', { handle: alive, describe: describeAlive }),
    },
  ];
}

function describeHeartbeat(): OperationDescription {
  const schema = { type: 'object', additionalProperties: { type: 'boolean' } };
  return {
    summary: 'Tests every backend.',
    responses: {
      200: { description: 'Every backend works.', schema },
      503: { description: 'At least one backend does not work.', schema },
    },
  };
}

function describeAlive(): OperationDescription {
  return describeDocument('Responds while the process is alive. Uses no backend.', 'An empty object.');
}

async function checkAll(
  options: HeartbeatOptions,
  { isWriting, reader }: HealthCheckOptions,
): Promise<ServiceResponse> {
  const results = await Promise.all(
    Array.from(
      options.checks,
      async ([name, check]) => [name, await isHealthy(name, () => check({ isWriting, reader }), options)] as const,
    ),
  );
  const body = Object.fromEntries(results);
  if (results.every(([, healthy]) => healthy)) return jsonResponse(200, body);
  return jsonResponse(503, body, { 'Retry-After': String(options.retryAfterSeconds) });
}

async function isHealthy(
  name: string,
  check: () => Promise<boolean | null>,
  { timeoutSeconds, logger }: HeartbeatOptions,
): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutSeconds} seconds`)), timeoutSeconds * 1000);
  });
  try {
    return (await Promise.race([check(), tooLate])) !== false;
  } catch (error) {
    logger.error({ err: error, backend: name }, 'Heartbeat check failed');
    return false;
  } finally {
    clearTimeout(timer);
  }
}
