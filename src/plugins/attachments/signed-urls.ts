// Addresses of files that work without credentials for a short time: for `<img>` and `<a>`, where browsers send none. A
// reader of the record requests one; it opens the file until it expires or the record has another file.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { FileOfRecord } from './references.ts';

export interface UrlSigner {
  /** Query of an address, with its question mark, and when it expires, in milliseconds since 1970 UTC. */
  sign(file: FileOfRecord): { readonly search: string; readonly expires: number };
  /** Whether the query of a request is one that was made for the file, and has not expired. */
  verify(file: FileOfRecord, query: Query): boolean;
}

type Query = readonly (readonly [name: string, value: string])[];

const names = ['expires', 'signature'] as const;

/** Whether a request carries a signature, valid or not; it decides alone then, whatever credentials come with it. */
export function isSigned(query: Query): boolean {
  return query.some(([name]) => name === 'expires' || name === 'signature');
}

export interface UrlSignerOptions {
  /** Of the service; the key is derived from it. */
  readonly secret: string;
  readonly lifetimeSeconds: number;
  readonly clock: Clock;
}

export function createUrlSigner({ secret, lifetimeSeconds, clock }: UrlSignerOptions): UrlSigner {
  const key = createHmac('sha256', secret).update('addresses of attachments').digest();
  const signatureOf = ({ ownerUri, location }: FileOfRecord, expires: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([ownerUri, location, expires]))
      .digest();
  return {
    sign(file) {
      const expires = clock.now() + lifetimeSeconds * 1000;
      const signature = signatureOf(file, String(expires)).toString('base64url');
      return { search: `?expires=${expires}&signature=${signature}`, expires };
    },
    verify(file, query) {
      const [expires, signature] = names.map((name) => findOnly(query, name));
      if (expires === undefined || signature === undefined || !/^\d{1,16}$/.test(expires)) return false;
      const given = Buffer.from(signature, 'base64url');
      const expected = signatureOf(file, expires);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
      // One that was made when the lifetime was longer goes by what it is now.
      const left = Number(expires) - clock.now();
      return left > 0 && left <= lifetimeSeconds * 1000;
    },
  };
}

/** The value of a parameter that is there once. */
function findOnly(query: Query, name: string): string | undefined {
  const values = query.filter(([each]) => each === name);
  return values.length === 1 ? values[0]![1] : undefined;
}
