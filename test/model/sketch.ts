// Requests before it is known when they are sent: texts with names in braces for what only the model knows at that time.
// `{ann}` is the id of a user; `{clock}`, `{object}`, `{other}` and `{gone}` are timestamps of the list, the object, another
// object of the list or the tombstone that the request addresses, `{now}` is the time, `{location}` the address of the last
// file that any record got, and each may be followed by a sum such as `+5`. Where JSON wants a number,
// `"{clock+5}"` alone becomes one.
import { encodePath } from '../support/hostile-ids.ts';
import type { Ask, FormPart } from './exchange.ts';
import { isList, isMap, type Json, type JsonMap } from './json.ts';
import type { Model } from './model.ts';
import { placeOf, type Place } from './places.ts';

export interface Sketch {
  readonly method: string;
  /** Without query, not encoded. */
  readonly path: string;
  /** Names and values, not encoded. */
  readonly query?: readonly (readonly [string, string])[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json;
  /** In place of a body. */
  readonly form?: readonly FormPart[];
  /** Caller of an entry of a batch; `nobody` means anonymous. */
  readonly as?: string;
}

export interface Step {
  /** Name; `undefined`: anonymous. */
  readonly user?: string | undefined;
  /** Through a socket, or without. */
  readonly door: 'inside' | 'http';
  /** Milliseconds by which the time moves before. */
  readonly advance: number;
  /** Several are a batch; a number asks for one of the next pages that were offered to the user. */
  readonly send: Sketch | readonly Sketch[] | number;
  /** Of a batch. */
  readonly defaults?: JsonMap | undefined;
}

/** Requests to one list that are sent at the same time, none waiting for another. */
export interface Burst {
  readonly list: string;
  readonly together: readonly Step[];
}

/** The request as it is sent. */
export function finish(model: Model, step: Step, sketch: Sketch, now: number): Ask {
  const place = placeOf(realPath(model, step.user, sketch.path).replace(/\/attachment$/, ''));
  const fill = (text: string): string => fillText(model, place, text, now);
  const query = new URLSearchParams((sketch.query ?? []).map(([name, value]): [string, string] => [name, fill(value)]));
  return {
    user: step.user,
    method: sketch.method,
    target: encodePath(fileAt(model, sketch.path)) + (query.size === 0 ? '' : `?${query.toString()}`),
    headers: Object.fromEntries(Object.entries(sketch.headers ?? {}).map(([name, text]) => [name, fill(text)])),
    body: sketch.body === undefined ? undefined : fillJson(sketch.body, fill),
    form: sketch.form?.map((part) =>
      part.value === undefined ? part : { ...part, value: fillJson(part.value, fill) },
    ),
  };
}

/** `{file}` at the end of a path stands for the name of the last file that the record got. */
function fileAt({ store }: Model, path: string): string {
  if (!path.endsWith('{file}')) return path;
  const begin = path.slice(0, -'{file}'.length);
  const location = [...store.locations].findLast((each) => each.startsWith(`/v1${begin}`));
  return location?.slice('/v1'.length) ?? `${begin}none.txt`;
}

/** Several requests as a batch. */
export function finishBatch(model: Model, step: Step, sketches: readonly Sketch[], now: number): Ask {
  const requests = sketches.map((sketch): Json => {
    const { method, target, headers, body } = finish(model, step, sketch, now);
    const authorization =
      sketch.as === undefined ? undefined : (model.accounts.get(sketch.as)?.authorization ?? 'None');
    const own = authorization === undefined ? headers : { ...headers, authorization };
    const whole = { method, path: target, headers: { ...own }, ...(body === undefined ? {} : { body }) };
    return step.defaults === undefined ? whole : without(whole, Object.keys(step.defaults));
  });
  const defaults =
    step.defaults === undefined
      ? {}
      : { defaults: fillJson(step.defaults, (text) => fillText(model, undefined, text, now)) };
  return { user: step.user, method: 'POST', target: '/batch', headers: {}, body: { requests, ...defaults } };
}

/** Every other entry leaves to the defaults what they say. */
function without(entry: JsonMap, names: readonly string[]): Json {
  if (JSON.stringify(entry).length % 2 === 0) return entry;
  return Object.fromEntries(Object.entries(entry).filter(([name]) => !names.includes(name)));
}

function realPath(model: Model, user: string | undefined, path: string): string {
  const account = user === undefined ? undefined : model.accounts.get(user);
  return account === undefined ? path : path.replace(/^\/buckets\/default(?=\/|$)/, `/buckets/${account.bucket}`);
}

function fillText(model: Model, place: Place | undefined, text: string, now: number): string {
  return text.replaceAll(/\{([a-z]+)([+-]\d+)?\}/g, (whole, name: string, sum = '0') => {
    const account = model.accounts.get(name);
    if (account !== undefined) return account.id;
    if (name === 'location') return [...model.store.locations].at(-1) ?? '/v1/attachments/b/c/r/none.txt';
    const time = timeOf(model, place, name, now);
    return time === undefined ? whole : String(time + Number(sum));
  });
}

function timeOf({ store }: Model, place: Place | undefined, name: string, now: number): number | undefined {
  if (name === 'now') return now;
  const list = place === undefined ? undefined : store.lists.get(place.list);
  const id = place?.id ?? '';
  // What is not there has a timestamp that nothing has.
  if (name === 'clock') return list?.clock ?? 7;
  if (name === 'object') return list?.live.get(id)?.lastModified ?? 8;
  if (name === 'other') return [...(list?.live ?? [])].find(([other]) => other !== id)?.[1].lastModified ?? 6;
  return name === 'gone' ? (list?.gone.get(id) ?? 9) : undefined;
}

function fillJson(value: Json, fill: (text: string) => string): Json {
  if (typeof value === 'string') {
    const filled = fill(value);
    return filled !== value && /^\{(?:now|clock|object|other|gone)(?:[+-]\d+)?\}$/.test(value)
      ? Number(filled)
      : filled;
  }
  if (isList(value)) return value.map((each) => fillJson(each, fill));
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [fill(key), fillJson(each, fill)]));
}
