// A Lua script with the hash the server knows it by.
import { createHash } from 'node:crypto';

export interface Script {
  readonly source: string;
  /** SHA-1 of the source, which is how `EVALSHA` names it. */
  readonly hash: string;
}

export function script(source: string): Script {
  return { source, hash: createHash('sha1').update(source).digest('hex') };
}
