// `GET /live`: the changes of several lists on one connection. Each list is a stream of its own, with its own access check;
// its frames name the list, and their ids hold the places of all lists.
import { quoteText } from '../base/abbreviate.ts';
import { invalidParameters, type Issue } from '../core/errors.ts';
import { parseTimestamp, timestampForm } from '../core/query/parameters.ts';
import type { Context } from '../engine/context.ts';
import type { Endpoint } from '../engine/endpoint.ts';
import { OpenBody, type OpenConnection, type ServiceResponse } from '../engine/exchange.ts';
import { beginEvents, heartbeat, HeldMemory, type FrameSink } from './event-stream.ts';
import { formatCursor, parseCursor, type Cursor } from './cursor.ts';
import { formatFrame, type Frame, type Frames } from './frames.ts';
import { ListStream, streamHeaders } from './list-stream.ts';

/** Maximum number of lists on one connection. */
export const maxLists = 50;
const maxTokenChars = 4096;

/** A list that the client wants to follow. */
interface Watched {
  /** Path as given, without query. */
  readonly path: string;
  readonly query: string;
}

export interface ManyListsOptions {
  /** Prefix of all addresses: `/v1`. */
  readonly versionPrefix: string;
  /** Whether a path below the prefix is that of a list. */
  readonly isList: (path: string) => boolean;
}

/** Parameters that a list does not take on a shared connection. */
const refusedNames: readonly string[] = ['_sort', '_limit', '_token', '_live', '_wait'];

/** The endpoint of live updates of several lists. */
export function manyListsEndpoint(options: ManyListsOptions): Endpoint {
  return {
    name: 'live',
    tag: 'live',
    path: '/live',
    isResource: false,
    operations: {
      GET: {
        id: 'get_live',
        describe: () => ({
          summary: 'Sends the changes of several lists as server-sent events.',
          details:
            'The frames are those of `_live=sse` on a list; their data names the list. Lists that are refused get a frame `refused`. If all are refused, the response is the refusal of the first one.',
          parameters: [
            {
              name: 'watch',
              in: 'query',
              isRequired: true,
              description: `Path of a list, with filters and _since as for the list. May be given ${maxLists} times.`,
              schema: { type: 'string' },
            },
            {
              name: 'Last-Event-ID',
              in: 'header',
              description: 'Id of the last frame received: each list goes on from its place.',
              schema: { type: 'string', maxLength: maxTokenChars },
            },
          ],
          responses: { 200: { description: 'The events.', mediaTypes: ['text/event-stream'] } },
          errors: [403, 404, 405, 410],
        }),
        handle: (context) => followMany(context, options),
      },
    },
  };
}

async function followMany(context: Context, options: ManyListsOptions): Promise<ServiceResponse> {
  const lists = readLists(context, options);
  const cursors = readCursors(context, lists.length);
  const opened: ServiceResponse[] = [];
  for (const [index, list] of lists.entries()) {
    const response = await openList(context, options, list, cursors[index]);
    // The request is malformed. What failed for want of a backend may succeed when the client comes back.
    if (response.status === 400 || response.status >= 500) return response;
    opened.push(response);
  }
  // Without a stream, `EventSource` stops at an error, and would reconnect for ever after an empty stream.
  if (!opened.some(({ body }) => body instanceof ListStream)) return opened[0]!;
  const body = new OpenBody((connection) => {
    const shared = new SharedConnection(connection, lists, cursors);
    for (const [index, each] of opened.entries()) {
      if (each.body instanceof ListStream) each.body.openSink(shared.sinkOf(index));
      else shared.refuse(index, each.body as string);
    }
  });
  return { status: 200, headers: streamHeaders, body };
}

/** @throws ServiceError invalidParameters unless each list can be followed, as far as its address says */
function readLists({ query }: Context, options: ManyListsOptions): readonly Watched[] {
  const given = query.filter(([name]) => name === 'watch').map(([, value]) => value);
  if (given.length === 0)
    throw invalidParameters([issue('expected the path of a list, such as /buckets/b/collections/c/records')]);
  if (given.length > maxLists) throw invalidParameters([issue(`expected at most ${maxLists} lists`)]);
  const lists = given.map((text) => {
    const mark = text.indexOf('?');
    return mark === -1 ? { path: text, query: '' } : { path: text.slice(0, mark), query: text.slice(mark + 1) };
  });
  const issues = lists.flatMap((list) => findFault(list, options) ?? []);
  if (issues.length > 0) throw invalidParameters(issues.map((each) => issue(each)));
  return lists;
}

function findFault({ path, query }: Watched, { versionPrefix, isList }: ManyListsOptions): string | undefined {
  const below = path.startsWith(`${versionPrefix}/`) ? path.slice(versionPrefix.length) : path;
  if (!below.startsWith('/') || !isList(below)) return `expected the path of a list, not ${quoteText(path)}`;
  for (const [name, value] of new URLSearchParams(query)) {
    if (refusedNames.includes(name)) return `${name} is not accepted for ${quoteText(path)}`;
    // The list itself compares it with its clock.
    if (name === '_since' && parseTimestamp(value, Infinity) === undefined) return `_since: ${timestampForm}`;
  }
  return undefined;
}

/** Reads the id of the last frame: a timestamp for each list in base 36, or nothing for a list without one. */
function readCursors({ request }: Context, count: number): (Cursor | undefined)[] {
  const token = request.headers['last-event-id'] ?? '';
  if (token === '') return Array.from({ length: count }, () => undefined);
  const parts = token.length > maxTokenChars ? [] : token.split('.');
  const cursors = parts.map((part) => parseCursor(part, 36));
  const isValid = parts.every((part, index) => part === '' || cursors[index] !== undefined);
  if (isValid && parts.length === count) return cursors;
  const description = 'expected the id of a frame that was received from this address';
  throw invalidParameters([{ location: 'header', name: 'Last-Event-ID', description }]);
}

function formatCursors(cursors: readonly (Cursor | undefined)[]): string {
  return cursors.map((cursor) => (cursor === undefined ? '' : formatCursor(cursor, 36))).join('.');
}

function issue(description: string): Issue {
  return { location: 'querystring', name: 'watch', description };
}

function openList(
  { request, dispatch }: Context,
  { versionPrefix }: ManyListsOptions,
  { path, query }: Watched,
  cursor: Cursor | undefined,
): Promise<ServiceResponse> {
  // Preconditions would concern each list by itself, and none of them has a state that the client could name.
  const { 'last-event-id': _, 'if-match': _match, 'if-none-match': _noneMatch, ...headers } = request.headers;
  const own = cursor === undefined ? headers : { ...headers, 'last-event-id': formatCursor(cursor) };
  const prefix = path.startsWith(`${versionPrefix}/`) ? '' : versionPrefix;
  const search = query === '' ? '_live=sse' : `${query}&_live=sse`;
  return dispatch({ ...request, target: `${prefix}${path}?${search}`, headers: own });
}

/** The connection of several streams. */
class SharedConnection {
  readonly #connection: OpenConnection;
  readonly #lists: readonly Watched[];
  /** How far the client has each list; `undefined`: not at all, or the list is refused. */
  readonly #cursors: (Cursor | undefined)[];
  readonly #whenDrained: (() => void)[] = [];
  readonly #held = new HeldMemory();
  #open: number;

  constructor(connection: OpenConnection, lists: readonly Watched[], cursors: readonly (Cursor | undefined)[]) {
    this.#connection = connection;
    this.#lists = lists;
    this.#cursors = [...cursors];
    this.#open = lists.length;
    beginEvents(connection);
    connection.onClose(this.#held.release);
    connection.onDrain(() => {
      this.#held.release();
      for (const task of this.#whenDrained) task();
    });
  }

  /** Returns where the frames of a list go. */
  sinkOf(index: number): FrameSink {
    const connection = this.#connection;
    let isRefused = false;
    return {
      get bufferedBytes() {
        return connection.bufferedBytes;
      },
      send: (frames) => {
        isRefused = this.#send(index, frames);
      },
      // Frames that name the list are copies of their own.
      hold: (frames) => this.#held.add(connection.reserve(frames.bytes.length)),
      reserve: connection.reserve,
      beat: () => {
        connection.write(heartbeat);
      },
      onDrain: (task) => {
        this.#whenDrained.push(task);
      },
      onClose: (task) => {
        connection.onClose(task);
      },
      end: () => {
        // The connection goes on without a refused list. Any other end is one of the connection.
        if (isRefused) this.#leave();
        else connection.end();
      },
      destroy: () => {
        connection.destroy();
      },
    };
  }

  /** @param error JSON text of the error body */
  refuse(index: number, error: string): void {
    this.#write(index, 'refused', error);
    this.#leave();
  }

  /** Sends the frames of a list; returns whether its stream ended with an error that concerns this list alone. */
  #send(index: number, { all }: Frames): boolean {
    let isRefused = false;
    for (const { event, id, data, retryMs } of all) {
      if (id !== undefined) this.#cursors[index] = id;
      if (event === 'end' && retryMs === undefined) {
        isRefused = true;
        this.#cursors[index] = undefined;
        this.#write(index, 'refused', data);
      } else if (event === 'end') {
        this.#connection.write(Buffer.from(formatFrame({ event, data, retryMs })));
      } else {
        this.#write(index, event, data, id !== undefined);
      }
    }
    return isRefused;
  }

  #write(index: number, event: Frame['event'], data: string, isResumable = false): void {
    const own = `"list":${JSON.stringify(this.#lists[index]!.path)},"watch":${index}`;
    const whole = data === '{}' ? `{${own}}` : `{${own},${data.slice(1)}`;
    const id = isResumable ? formatCursors(this.#cursors) : undefined;
    this.#connection.write(Buffer.from(formatFrame({ event, data: whole }, id)));
  }

  #leave(): void {
    this.#open -= 1;
    if (this.#open === 0) this.#connection.end();
  }
}
