// `GET /operations/log`: the newest lines of the log of all processes.
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Context } from '../../engine/context.ts';
import { objectWith, queryParameter, type OperationDescription } from '../../engine/description.ts';
import { forReading, type Endpoint } from '../../engine/endpoint.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';
import { deletionHeaders } from '../../engine/list-parameters.ts';
import {
  describedToken,
  describeLimit,
  limitOf,
  nextPageHeader,
  oneOf,
  positionOf,
  readPlainParameters,
  timeParameter,
} from '../../engine/plain-parameters.ts';
import {
  comparePositions,
  logLevels,
  type LogLine,
  type LogPosition,
  type LogQuery,
  type LogRetention,
  type LogRing,
} from '../../observability/log-ring.ts';

/** Lines of a process, which can be sent to another process. */
export interface LogReport {
  readonly lines: readonly LogLine[];
  readonly retention: LogRetention;
}

const maxPage = 1000;
const pageByDefault = 100;

/** Returns the lines of this process that a query selects. */
export function reportLines(ring: LogRing, query: LogQuery): LogReport {
  return { lines: ring.read(query), retention: ring.retention };
}

/**
 * Returns the endpoint, without a check of access.
 *
 * @param askProcesses returns the lines of all processes
 */
export function logEndpoint(
  versionPrefix: string,
  askProcesses: (query: LogQuery) => Promise<readonly LogReport[]>,
): Endpoint {
  const handle = async (context: Context): Promise<ServiceResponse> => {
    const given = readPlainParameters(context, {
      level: oneOf(...logLevels),
      _since: timeParameter,
      _limit: limitOf(maxPage),
      _token: positionOf(isLogPosition),
    });
    const { level = 'debug', _since: since = 0, _limit: limit = pageByDefault, _token: before } = given;
    // One more than wanted shows whether others follow.
    const reports = await askProcesses({ level, since, before, limit: limit + 1 });
    const lines = reports
      .flatMap((report) => report.lines)
      .toSorted((a, b) => comparePositions(positionOfLine(a), positionOfLine(b)));
    const shown = lines.slice(0, limit);
    const last = lines.length > limit ? shown.at(-1) : undefined;
    const next = last === undefined ? undefined : positionOfLine(last);
    const body = { data: shown.map(formatLine), retention: formatRetention(reports.map(({ retention }) => retention)) };
    return jsonResponse(200, body, nextPageHeader(context, versionPrefix, next));
  };
  return {
    name: 'operations-log',
    tag: 'operations',
    path: '/operations/log',
    isResource: false,
    operations: forReading('get_log', { handle, describe }, ['Next-Page']),
  };
}

function isLogPosition(value: JsonValue): value is LogPosition {
  return Array.isArray(value) && value.length === 3 && value.every((part) => Number.isSafeInteger(part));
}

function positionOfLine({ time, pid, number }: LogLine): LogPosition {
  return [time, pid, number];
}

function formatLine({ number, time, level, pid, message, fields }: LogLine): JsonObject {
  // Fields come from JSON.
  return { id: `${pid}-${number}`, time, level, pid, message, fields: fields as JsonObject };
}

function formatRetention(all: readonly LogRetention[]): JsonObject {
  const oldest = all.flatMap((each) => (each.oldest === undefined ? [] : [each.oldest]));
  return {
    oldest: oldest.length === 0 ? null : Math.min(...oldest),
    bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
    limit_bytes: all.reduce((sum, { limitBytes }) => sum + limitBytes, 0),
  };
}

function describe(): OperationDescription {
  const integer = { type: 'integer' };
  const items = objectWith({
    id: { type: 'string' },
    time: integer,
    level: { type: 'string', enum: logLevels },
    pid: integer,
    message: { type: 'string' },
    fields: { type: 'object' },
  });
  const retention = objectWith({ oldest: { type: ['integer', 'null'] }, bytes: integer, limit_bytes: integer });
  const schema = objectWith({ data: { type: 'array', items }, retention });
  return {
    summary: 'Returns recent lines of the log, newest first.',
    parameters: [
      queryParameter('level', 'Minimum level.', { type: 'string', enum: logLevels, default: 'debug' }),
      queryParameter('_since', 'Only lines at or after this time, in milliseconds since 1970 UTC.', {
        type: 'integer',
        minimum: 0,
      }),
      describeLimit(maxPage, pageByDefault),
      describedToken,
    ],
    responses: { 200: { description: 'The lines.', schema, headers: deletionHeaders } },
  };
}
