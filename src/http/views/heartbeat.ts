// Health checks: `/__heartbeat__` writes to and reads from each backend, `/__lbheartbeat__` only shows that the process responds.
import type { Logger } from '../../contracts/logger.ts';
import type { Context } from '../../engine/context.ts';
import { describeDocument, type OperationDescription } from '../../engine/description.ts';
import { forReading, type Endpoint } from '../../engine/endpoint.ts';
import type { Reader } from '../../engine/unit-of-work.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';

/** Resolves to whether a part is healthy. A check that throws or times out counts as unhealthy. */
export type HealthCheck = (options: HealthCheckOptions) => Promise<boolean | null>;

export interface HealthCheckOptions {
  /**
   * Whether the request, as a batch entry, holds the write lock itself. A check that waited for that lock would cause a
   * deadlock.
   */
  readonly isWriting: boolean;
  /** Reader without waiting for locks. */
  readonly reader: Reader;
}

export interface HealthOptions {
  /** Checks by name in the response. */
  readonly checks: ReadonlyMap<string, HealthCheck>;
  /** Timeout of each check in seconds. */
  readonly timeoutSeconds: number;
  readonly logger: Logger;
}

export interface HeartbeatOptions extends HealthOptions {
  readonly retryAfterSeconds: number;
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

/** Runs all checks; returns by name whether the part is healthy. */
export async function checkHealth(
  options: HealthOptions,
  { isWriting, reader }: HealthCheckOptions,
): Promise<Readonly<Record<string, boolean>>> {
  const results = await Promise.all(
    Array.from(
      options.checks,
      async ([name, check]) => [name, await isHealthy(name, () => check({ isWriting, reader }), options)] as const,
    ),
  );
  return Object.fromEntries(results);
}

async function checkAll(options: HeartbeatOptions, unit: HealthCheckOptions): Promise<ServiceResponse> {
  const body = await checkHealth(options, unit);
  if (Object.values(body).every(Boolean)) return jsonResponse(200, body);
  return jsonResponse(503, body, { 'Retry-After': String(options.retryAfterSeconds) });
}

async function isHealthy(
  name: string,
  check: () => Promise<boolean | null>,
  { timeoutSeconds, logger }: HealthOptions,
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
