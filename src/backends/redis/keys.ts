// The names of all keys. Everything of one parent, its lists as well as the entries of their objects, carries the parent
// as hash tag and so lies in one slot; registries say which parents there are. See docs/guides/redis.md.
import type { ListKey } from '../../core/objects/stored.ts';

/** How many registries there are; each bucket belongs to one of them. */
const shardCount = 16;

export class Keys {
  /** Text before everything; holds no braces. */
  readonly root: string;
  /** The tags of all registries. */
  readonly shards: readonly string[];

  /** @throws Error when the prefix would end a hash tag early */
  constructor(root: string) {
    if (/[{}]/.test(root)) throw new Error('the prefix of Redis keys must not hold braces');
    this.root = root;
    this.shards = Array.from({ length: shardCount }, (_, n) => `{${root}~${n}}`);
  }

  /** Hash tag of a parent. */
  tag(parent: string): string {
    return `{${this.root}=${escapeTag(parent)}}`;
  }

  /** Hash with the clock (`c`), the version (`v`) and the horizon (`h`) of a list. */
  meta({ parent, kind }: ListKey): string {
    return `${this.tag(parent)}m:${kind}`;
  }

  /** The hash of a list, its texts by id, its timestamps of live objects and of tombstones. */
  list({ parent, kind }: ListKey): readonly [meta: string, objects: string, live: string, dead: string] {
    const tag = this.tag(parent);
    return [`${tag}m:${kind}`, `${tag}o:${kind}`, `${tag}t:${kind}`, `${tag}d:${kind}`];
  }

  /** Which process holds a list, and which is the next. */
  lease({ parent, kind }: ListKey): readonly [holder: string, next: string] {
    const tag = this.tag(parent);
    return [`${tag}w:${kind}`, `${tag}n:${kind}`];
  }

  /** Hash with the entries of the objects of a parent: object id → JSON of permission → principals. */
  entries(parent: string): string {
    return `${this.tag(parent)}e`;
  }

  /** Sorted set with one text for each principal in the entries of each object of a parent: see `grantsOf`. */
  granted(parent: string): string {
    return `${this.tag(parent)}g`;
  }

  /** Hash tag of a principal, or a user. */
  principal(name: string): string {
    return `{${this.root}@${escapeTag(name)}}`;
  }

  /** Set of the parents, escaped, where the principal may be in an entry. */
  places(principal: string): string {
    return `${this.principal(principal)}p`;
  }

  /** Set of the principals of a user. */
  memberships(userId: string): string {
    return `${this.principal(userId)}m`;
  }

  /** Set of the users who may have the principal. */
  members(principal: string): string {
    return `${this.principal(principal)}u`;
  }

  /** Channel of the hints about changes. The databases of a server share its channels, so the number of the database is in it. */
  channel(db: number): string {
    return `${this.root}changes:${db}`;
  }

  /** Hash of the database as a whole: the version of its layout (`layout`), the number of flushes (`flushes`). */
  schema(): string {
    return `{${this.root}~0}schema`;
  }

  /**
   * Key that a commit on a single server probes before it writes. A change of the layout makes it another one, and gives
   * the old one a type that cannot be written, so that processes of the older version write no more.
   */
  probe(): string {
    return `${this.schema()}!2`;
  }

  /** A key of the security state, all of which lies in one slot. */
  security(name: string): string {
    return `{${this.root}~security}${name}`;
  }

  /** Tag of the registry that knows a parent, or a principal. */
  shard(text: string): string {
    const end = endOfBucket(text);
    return this.shards[hash(end === undefined ? text : text.slice(0, end)) % shardCount]!;
  }

  /** The registries that may know texts that start with the prefix. */
  shardsOf(prefix: string): readonly string[] {
    return endOfBucket(prefix) === undefined ? this.shards : [this.shard(prefix)];
  }
}

/** A brace would end the tag. Escaped texts are ordered as the texts themselves are, and share prefixes as they do. */
export function escapeTag(text: string): string {
  return text.replaceAll('|', '|a').replaceAll('}', '|b');
}

/** The text behind `escapeTag`. */
export function unescapeTag(text: string): string {
  return text.replaceAll('|b', '}').replaceAll('|a', '|');
}

/**
 * What the members of a set of grants begin with that belong to a principal; the object id follows. The character U+0001
 * ends the principal and is escaped inside of it, so no principal begins another one's members. No backend stores U+0000.
 */
export function grantsOf(principal: string): string {
  return `${principal.replaceAll('\u0002', '\u0002\u0003').replaceAll('\u0001', '\u0002\u0002')}\u0001`;
}

/** The members that begin with `grantsOf` of a principal, as `ZRANGEBYLEX` wants them. */
export function rangeOfGrants(grants: string): readonly [low: string, high: string] {
  return [`[${grants}`, `(${grants.slice(0, -1)}\u0002`];
}

/** The parent of the list that an object id lies in: `/buckets/a` for `/buckets/a/groups/g`. */
export function parentOf(objectId: string): string {
  return dirname(dirname(objectId));
}

/** The text before the last slash; empty when there is none. */
export function dirname(uri: string): string {
  return uri.slice(0, Math.max(uri.lastIndexOf('/'), 0));
}

/** Where the first two segments of a path end, the bucket's URI, when something follows them. */
function endOfBucket(text: string): number | undefined {
  if (!text.startsWith('/')) return undefined;
  const end = text.indexOf('/', text.indexOf('/', 1) + 1);
  return end > 0 ? end : undefined;
}

/** FNV-1a over UTF-16 units: stable for ever, as data depends on it. */
function hash(text: string): number {
  let value = 0x81_1c_9d_c5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01_00_01_93);
  return value >>> 0;
}
