// The values of `If-Match` and `If-None-Match`. What they are compared with is the business of each endpoint; see
// docs/reference/http-api/preconditions.md.
import type { Issue } from '../errors.ts';
import { parseEtag } from './etag.ts';

export type PreconditionHeader = 'If-Match' | 'If-None-Match';

/** `*`, or the one timestamp that must (not) be current. */
export type Precondition = { readonly any: true } | { readonly any: false; readonly timestamp: number };

/** The precondition in a header, or what is wrong with it: lists, weak tags and bare numbers are not accepted. */
export function parsePrecondition(
  header: PreconditionHeader,
  value: string,
): { readonly precondition: Precondition } | { readonly issue: Issue } {
  const text = value.trim();
  if (text === '*') return { precondition: { any: true } };
  const timestamp = parseEtag(text);
  if (timestamp !== undefined) return { precondition: { any: false, timestamp } };
  const description = 'expected * or a timestamp between double quotes';
  return { issue: { location: 'header', name: header, description } };
}
