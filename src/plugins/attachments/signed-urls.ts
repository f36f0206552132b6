// Signed URLs of files that work without credentials for a short time, for `<img>` and `<a>`, where browsers send none.
// A URL is valid until it expires or the link of the file changes, even if another file gets the same name.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { deriveKey } from '../../settings/derived-keys.ts';
import type { Link } from './file-links.ts';
import type { FileOfRecord } from './references.ts';

/** Timestamp of a link. */
type Version = Link['lastModified'];

export interface UrlSigner {
  /** Returns the query of a URL with its question mark, and its expiry in milliseconds since 1970 UTC. */
  sign(link: FileOfRecord & Pick<Link, 'lastModified'>): { readonly search: string; readonly expires: number };
  /** Returns the version of the link for which the query was signed; `undefined` for another file, or when it has expired. */
  verify(file: FileOfRecord, query: Query): Version | undefined;
}

type Query = readonly (readonly [name: string, value: string])[];

const names = ['expires', 'version', 'signature'] as const;
const digits = /^\d{1,16}$/;

/** Returns whether a request has a signature, valid or not. If so, its credentials are ignored. */
export function isSigned(query: Query): boolean {
  return query.some(([name]) => name === 'expires' || name === 'signature');
}

export interface UrlSignerOptions {
  /** Secret of the service, from which the key is derived. */
  readonly secret: string;
  readonly lifetimeSeconds: number;
  readonly clock: Clock;
}

export function createUrlSigner({ secret, lifetimeSeconds, clock }: UrlSignerOptions): UrlSigner {
  const key = deriveKey(secret, 'addresses of attachments');
  const signatureOf = ({ ownerUri, location }: FileOfRecord, expires: string, version: string): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([ownerUri, location, expires, version]))
      .digest('base64url');
  return {
    sign(link) {
      const expires = clock.now() + lifetimeSeconds * 1000;
      const version = link.lastModified;
      const signature = signatureOf(link, String(expires), String(version));
      return { search: `?expires=${expires}&version=${version}&signature=${signature}`, expires };
    },
    verify(file, query) {
      const [expires = '', version = '', signature = ''] = names.map((name) => findOnly(query, name));
      if (!digits.test(expires) || !digits.test(version)) return undefined;
      if (!isSameText(signature, signatureOf(file, expires, version))) return undefined;
      // A URL signed with a longer lifetime follows the current setting.
      const left = Number(expires) - clock.now();
      return left > 0 && left <= lifetimeSeconds * 1000 ? Number(version) : undefined;
    },
  };
}

/** Compares in a time that does not depend on the contents. */
function isSameText(a: string, b: string): boolean {
  const [first, second] = [Buffer.from(a), Buffer.from(b)];
  return first.length === second.length && timingSafeEqual(first, second);
}

/** Returns the value of a parameter that appears exactly once. */
function findOnly(query: Query, name: string): string | undefined {
  const values = query.filter(([each]) => each === name);
  return values.length === 1 ? values[0]![1] : undefined;
}
