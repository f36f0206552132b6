// A Lua script with the hash by which the server knows it.
import { createHash } from 'node:crypto';

export interface Script {
  readonly source: string;
  /** SHA-1 of the source, the argument of `EVALSHA`. */
  readonly hash: string;
}

export function script(source: string): Script {
  return { source, hash: createHash('sha1').update(source).digest('hex') };
}
