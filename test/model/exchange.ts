// Requests and answers as the model sees them, and refusals with their numbers.
import type { Json, JsonMap } from './json.ts';

export interface Ask {
  /** Name of a user; `undefined`: anonymous. */
  readonly user: string | undefined;
  readonly method: string;
  /** Without `/v1`, with query, percent-encoded. */
  readonly target: string;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined`: none. */
  readonly body: Json | undefined;
  /** In place of a body. */
  readonly form?: readonly FormPart[] | undefined;
}

/** The decoded path that a request is sent to. */
export function pathOf({ target }: Ask): string {
  return decodeURIComponent(target.split('?')[0]!);
}

/** A part of a form: a file when it has a name for it. */
export interface FormPart {
  readonly name: string;
  readonly filename?: string;
  readonly type?: string;
  /** As JSON. */
  readonly value?: Json;
  /** In place of a value: what is no JSON. */
  readonly text?: string;
}

/** What the service answered. */
export interface Reply {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined`: empty. */
  readonly body: Json | undefined;
}

/** The page after this one. */
export interface NextPage {
  readonly path: string;
  /** The query without `_token`. */
  readonly query: readonly (readonly [string, string])[];
  /** Values of the last object by the names of the sort keys. */
  readonly last: JsonMap;
}

/** What the model says the service must answer. */
export interface Expected {
  readonly status: number;
  readonly errno?: number;
  /** Those that matter, by lower-case name; what is not named must not be there. `*` stands for any value. */
  readonly headers: Readonly<Record<string, string>>;
  readonly nextPage?: NextPage | undefined;
  readonly body: Json | undefined;
  /** Entries of a batch, in place of a body. */
  readonly entries?: readonly (Expected & { readonly path: string })[];
}

/** Headers that are compared; all others may come or not. */
export const comparedHeaders: readonly string[] = [
  'etag',
  'last-modified',
  'total-objects',
  'total-records',
  'next-page',
  'cache-control',
  'retry-after',
  'alert',
  'www-authenticate',
  'allow',
  'location',
];

/** Where something is wrong, and its name. */
export type Issue = readonly [location: 'body' | 'querystring' | 'header' | 'path', name: string | null];

/** An answer that ends a request where it is found. */
export class Refusal extends Error {
  readonly expected: Expected;

  constructor(status: number, errno: number, details?: Json, headers: Readonly<Record<string, string>> = {}) {
    super(`${status}/${errno}`);
    const body = details === undefined ? {} : { details };
    this.expected = { status, errno, headers, body };
  }
}

/** @throws Refusal when anything is wrong */
export function requireNone(issues: readonly Issue[]): void {
  if (issues.length > 0) {
    throw new Refusal(
      400,
      107,
      issues.map(([location, name]) => ({ location, name })),
    );
  }
}

/** 404 for an object, or for what a list lies in. */
export function missing(errno: 110 | 111, id: string, kind: string): Refusal {
  return new Refusal(404, errno, { id, resource_name: kind });
}

/** Headers of an entity or a list at this time. */
export function stamps(timestamp: number): Readonly<Record<string, string>> {
  return { etag: `"${timestamp}"`, 'last-modified': new Date(timestamp).toUTCString() };
}

/** Answers to reads are not to be kept. */
export const uncached = { 'cache-control': 'no-cache, no-store' };
