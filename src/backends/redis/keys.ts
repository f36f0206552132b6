// The names of all keys. The lists of a parent and the entries of their objects carry the parent as hash tag, so they lie
// in one slot. Registries list the parents. See docs/guides/redis.md.
import type { ListKey } from '../../core/objects/stored.ts';
import type { Principal } from '../../core/permissions/principals.ts';

/** Number of registries. Each bucket belongs to one of them. */
const shardCount = 16;

export class Keys {
  /** Prefix of all keys; contains no braces. */
  readonly root: string;
  /** The tags of all registries. */
  readonly shards: readonly string[];

  /** @throws Error when the prefix would end a hash tag early */
  constructor(root: string) {
    if (/[{}]/.test(root)) throw new Error('the prefix of Redis keys must not contain braces');
    this.root = root;
    this.shards = Array.from({ length: shardCount }, (_, n) => `{${root}~${n}}`);
  }

  /** Returns the hash tag of a parent. */
  tag(parent: string): string {
    return `{${this.root}=${escapeTag(parent)}}`;
  }

  /** Returns the hash with the clock (`c`), the version (`v`) and the horizon (`h`) of a list. */
  meta({ parent, kind }: ListKey): string {
    return `${this.tag(parent)}m:${kind}`;
  }

  /** Returns the hash of a list, its texts by id, its timestamps of live objects and of tombstones. */
  list({ parent, kind }: ListKey): readonly [meta: string, objects: string, live: string, dead: string] {
    const tag = this.tag(parent);
    return [`${tag}m:${kind}`, `${tag}o:${kind}`, `${tag}t:${kind}`, `${tag}d:${kind}`];
  }

  /**
   * Returns the sorted set of the keys of the objects of a list in declared indexes, and the hash of the members of each
   * object. The field `i` of the hash of the list exists when they may.
   */
  indexes({ parent, kind }: ListKey): readonly [keys: string, ofObjects: string] {
    const tag = this.tag(parent);
    return [`${tag}i:${kind}`, `${tag}x:${kind}`];
  }

  /** Returns the keys of the lease on a list: the process that has it, and the next one. */
  lease({ parent, kind }: ListKey): readonly [holder: string, next: string] {
    const tag = this.tag(parent);
    return [`${tag}w:${kind}`, `${tag}n:${kind}`];
  }

  /** Returns the hash with the entries of the objects of a parent: object id → JSON of permission → principals. */
  entries(parent: string): string {
    return `${this.tag(parent)}e`;
  }

  /** Returns the sorted set with one text for each principal in the entries of each object of a parent: see `grantsOf`. */
  granted(parent: string): string {
    return `${this.tag(parent)}g`;
  }

  /** Returns the hash tag of a principal or a user. */
  principal(name: string): string {
    return `{${this.root}@${escapeTag(name)}}`;
  }

  /** Returns the set of the parents, escaped, where the principal may be in an entry. */
  places(principal: Principal): string {
    return `${this.principal(principal)}p`;
  }

  /** Returns the set of the principals of a user; on a cluster, of those that the user may have: see `members`. */
  memberships(userId: Principal): string {
    return `${this.principal(userId)}m`;
  }

  /** Returns the set of the users who have the principal. It lies in the slot of the group, so it changes with the group. */
  members(principal: Principal): string {
    return `${this.tag(parentOf(principal))}u:${principal}`;
  }

  /** Channel of the hints about changes. The databases of a server share its channels, so the number of the database is in it. */
  channel(db: number): string {
    return `${this.root}changes:${db}`;
  }

  /** Returns the hash of the whole database: the version of its layout and the number of flushes. */
  schema(): string {
    return `{${this.root}~0}schema`;
  }

  /**
   * Returns the key that a commit on a single server probes before it writes. A new layout uses another key, and gives the
   * old one a type that cannot be written, so that processes of the older version cannot write.
   */
  probe(): string {
    return `${this.schema()}!3`;
  }

  /** Returns a key of the security state, all of which lies in one slot. */
  security(name: string): string {
    return `{${this.root}~security}${name}`;
  }

  /** Returns the tag of the registry that lists a parent or a principal. */
  shard(text: string): string {
    const end = endOfBucket(text);
    return this.shards[hash(end === undefined ? text : text.slice(0, end)) % shardCount]!;
  }

  /** Returns the registries that may list texts with the prefix. */
  shardsOf(prefix: string): readonly string[] {
    return endOfBucket(prefix) === undefined ? this.shards : [this.shard(prefix)];
  }
}

/** Escapes braces, which would end the tag. Escaped texts keep their order and their common prefixes. */
export function escapeTag(text: string): string {
  return text.replaceAll('|', '|a').replaceAll('}', '|b');
}

/** Reverses `escapeTag`. */
export function unescapeTag(text: string): string {
  return text.replaceAll('|b', '}').replaceAll('|a', '|');
}

/**
 * Returns the text with which the members of a set of grants begin that belong to a principal; the object id follows.
 * U+0001 ends the principal and is escaped within it, so the text of one principal never begins that of another. No backend
 * stores U+0000.
 */
export function grantsOf(principal: Principal): string {
  return `${principal.replaceAll('\u0002', '\u0002\u0003').replaceAll('\u0001', '\u0002\u0002')}\u0001`;
}

/** Returns the range of members that begin with `grantsOf` of a principal, for `ZRANGEBYLEX`. */
export function rangeOfGrants(grants: string): readonly [low: string, high: string] {
  return [`[${grants}`, `(${grants.slice(0, -1)}\u0002`];
}

/** Returns the parent of the list of an object id: `/buckets/a` for `/buckets/a/groups/g`. */
export function parentOf(objectId: string): string {
  return dirname(dirname(objectId));
}

/** Returns the text before the last slash; empty when it has none. */
export function dirname(uri: string): string {
  return uri.slice(0, Math.max(uri.lastIndexOf('/'), 0));
}

/** Returns the end of the first two segments of a path, the URI of the bucket, when more segments follow. */
function endOfBucket(text: string): number | undefined {
  if (!text.startsWith('/')) return undefined;
  const end = text.indexOf('/', text.indexOf('/', 1) + 1);
  return end > 0 ? end : undefined;
}

/** Returns the FNV-1a hash over UTF-16 units. It never changes, because stored data depends on it. */
function hash(text: string): number {
  let value = 0x81_1c_9d_c5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01_00_01_93);
  return value >>> 0;
}
