// The rate limits of a service, and what one outer request has to do with them: an `Admission` counts it, and each
// entry of a batch, and knows what to tell the client.
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../core/errors.ts';
import type { Caller } from '../../engine/caller.ts';
import type { ResponseHeaders, ServiceRequest } from '../../engine/exchange.ts';
import { addressGroup } from '../address-group.ts';
import type { Route } from '../router.ts';
import { Rule, type RateLimit } from './rate-limit.ts';
import { BucketStore, TokenBucket, type BucketStoreOptions } from './token-bucket.ts';

export interface RateLimitsOptions extends BucketStoreOptions {
  readonly limits: readonly RateLimit[];
  /** Principals whose requests are not counted. */
  readonly exempt: readonly string[];
}

/** Callers that one process remembers at the same time. Those that have been away longest are forgotten first. */
const maxBuckets = 50_000;

/** Header names that scripts of other origins may read. */
export const rateLimitHeaders: readonly string[] = ['RateLimit', 'RateLimit-Policy'];

export class RateLimits {
  readonly #store: BucketStore;
  readonly #buckets = new LRUCache<string, TokenBucket>({ max: maxBuckets });
  /** Those that can be checked before it is known who calls, and the others. */
  readonly early: readonly Rule[];
  readonly late: readonly Rule[];
  readonly exempt: ReadonlySet<string>;

  constructor({ limits, exempt, ...options }: RateLimitsOptions) {
    this.#store = new BucketStore(options);
    const rules = limits.map((limit) => new Rule(limit));
    this.early = rules.filter(({ by }) => by !== 'user');
    this.late = rules.filter(({ by }) => by === 'user');
    this.exempt = new Set(exempt);
  }

  /** For one outer request. */
  begin(): Admission {
    return new Admission(this);
  }

  /** Returns the bucket of a rule for a caller. */
  bucketOf(rule: Rule, who: string): TokenBucket {
    const { requests: limit, windowSeconds: seconds } = rule;
    const key = `${rule.name}\n${limit}\n${seconds}\n${who}`;
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) this.#buckets.set(key, (bucket = new TokenBucket(this.#store, { key, limit, seconds })));
    return bucket;
  }
}

/** Where a request leads. */
interface Place {
  /** Absent: nothing serves it. */
  readonly route?: Route | undefined;
  /** Decoded path below the version prefix. */
  readonly below: string;
}

export class Admission {
  readonly #limits: RateLimits;
  /** What was decided, in order: a request that is run again counts once, and is decided alike. */
  readonly #decided: (ServiceError | undefined)[] = [];
  #position = 0;
  #dispatched = 0;
  /** Of the request or entry that is being admitted. */
  #taken: TokenBucket[] = [];
  #refusal: ServiceError | undefined;
  /** By name of the rule, the one with the least left. */
  readonly #shown = new Map<string, readonly [Rule, TokenBucket]>();

  constructor(limits: RateLimits) {
    this.#limits = limits;
  }

  /** The request is run again as a whole. */
  rewind(): void {
    this.#position = 0;
    this.#dispatched = 0;
  }

  /**
   * Counts what does not depend on who calls. When some callers are exempt, a refusal waits until that is known.
   *
   * @throws ServiceError clientAtCapacity
   */
  async arrive(request: ServiceRequest, place: Place): Promise<void> {
    this.#dispatched++;
    this.#taken = [];
    this.#refusal = await this.#decideOnce(() => this.#takeAll(this.#limits.early, request, place, undefined));
    const asksNobody = place.route === undefined || place.route.endpoint.ignoresCaller === true;
    if (this.#refusal !== undefined && (asksNobody || this.#limits.exempt.size === 0)) throw this.#refusal;
    // Nobody will be found to call: what is counted by user goes by address.
    if (asksNobody) await this.#admit(request, place, undefined);
  }

  /**
   * Counts what depends on who calls.
   *
   * @throws ServiceError clientAtCapacity
   */
  async admitCaller(request: ServiceRequest, place: Place, caller: Caller): Promise<void> {
    if (caller.knownPrincipals.some((principal) => this.#limits.exempt.has(principal))) this.#giveBack();
    else await this.#admit(request, place, caller);
  }

  async #admit(request: ServiceRequest, place: Place, caller: Caller | undefined): Promise<void> {
    const { late } = this.#limits;
    const refusal =
      this.#refusal ?? (await this.#decideOnce(() => this.#takeAll(late, request, place, caller?.userId)));
    if (refusal === undefined) return;
    // Groups cost a question, which only those have to wait for who would be refused otherwise.
    if (this.#limits.exempt.size > 0 && caller?.memberOf !== undefined) {
      const all = await caller.allPrincipals();
      if (all.some((principal) => this.#limits.exempt.has(principal))) return this.#giveBack();
    }
    throw refusal;
  }

  /** Tells the client where it stands. */
  addTo(headers: ResponseHeaders): void {
    if (this.#shown.size === 0) return;
    const shown = [...this.#shown.values()];
    headers['RateLimit-Policy'] = shown.map(([rule]) => rule.policy).join(', ');
    headers['RateLimit'] = shown
      .map(([{ name }, bucket]) => `"${name}";r=${bucket.remaining};t=${bucket.secondsUntilFull}`)
      .join(', ');
  }

  async #decideOnce(decide: () => Promise<ServiceError | undefined>): Promise<ServiceError | undefined> {
    const position = this.#position++;
    if (position === this.#decided.length) this.#decided.push(await decide());
    return this.#decided[position];
  }

  async #takeAll(
    rules: readonly Rule[],
    request: ServiceRequest,
    { route, below }: Place,
    userId: string | undefined,
  ): Promise<ServiceError | undefined> {
    if (route?.endpoint.isVital === true) return undefined;
    for (const rule of rules) {
      if (!rule.isAbout(request.method, below)) continue;
      const who = whoOf(rule, request, userId);
      if (who === undefined) continue;
      const bucket = this.#limits.bucketOf(rule, who);
      this.#show(rule, bucket);
      // Entries of a batch may hold locks, for which nobody shall wait longer than needed.
      const taken = bucket.take(this.#dispatched === 1);
      if (!(typeof taken === 'boolean' ? taken : await taken)) return refusalOf(bucket);
      this.#taken.push(bucket);
    }
    return undefined;
  }

  #show(rule: Rule, bucket: TokenBucket): void {
    const shown = this.#shown.get(rule.name);
    if (shown === undefined || bucket.remaining < shown[1].remaining) this.#shown.set(rule.name, [rule, bucket]);
  }

  #giveBack(): void {
    for (const bucket of this.#taken.splice(0)) bucket.giveBack();
  }
}

/** Whose count it is; `undefined` when there is nobody to count for. */
function whoOf({ by }: Rule, { clientAddress }: ServiceRequest, userId: string | undefined): string | undefined {
  if (by === 'all') return '';
  if (by === 'user' && userId !== undefined) return `user ${userId}`;
  return clientAddress === undefined ? undefined : `address ${addressGroup(clientAddress)}`;
}

function refusalOf({ secondsUntilToken }: TokenBucket): ServiceError {
  return new ServiceError('clientAtCapacity', {
    message: 'Too many requests. Try again later.',
    headers: { 'Retry-After': String(secondsUntilToken) },
  });
}
