// The rate limits of a service. An `Admission` counts an outer request and each entry of a batch, and adds the headers about
// the limits.
import { LRUCache } from 'lru-cache';
import { ServiceError } from '../../core/errors.ts';
import type { UserId } from '../../core/permissions/principals.ts';
import type { Caller } from '../../engine/caller.ts';
import type { ResponseHeaders, ServiceRequest } from '../../engine/exchange.ts';
import { addressGroup } from '../address-group.ts';
import type { Route } from '../router.ts';
import { Rule, type RateLimit } from './rate-limit.ts';
import { BucketStore, TokenBucket, type BucketStoreOptions } from './token-bucket.ts';

export interface RateLimitsOptions extends BucketStoreOptions {
  readonly limits: readonly RateLimit[];
  /** Exempt principals. */
  readonly exempt: readonly string[];
}

/** Maximum number of buckets per process; the least recently used ones are dropped first. */
const maxBuckets = 50_000;

/** Headers to expose to scripts of other origins. */
export const rateLimitHeaders: readonly string[] = ['RateLimit', 'RateLimit-Policy'];

export class RateLimits {
  readonly #store: BucketStore;
  readonly #buckets = new LRUCache<string, TokenBucket>({ max: maxBuckets });
  /** Rules that do not depend on the caller, and the others. */
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

  /** Returns the admission of an outer request. */
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

/** The target of a request. */
interface Place {
  /** Absent for unknown paths. */
  readonly route?: Route | undefined;
  /** Decoded path below the version prefix. */
  readonly below: string;
}

export class Admission {
  readonly #limits: RateLimits;
  /** Decisions in order: a retried request counts once, with the same decisions. */
  readonly #decided: (ServiceError | undefined)[] = [];
  #position = 0;
  #dispatched = 0;
  /** Buckets charged for the current request or entry. */
  #taken: TokenBucket[] = [];
  #refusal: ServiceError | undefined;
  /** Bucket with the fewest tokens by name of the rule. */
  readonly #shown = new Map<string, readonly [Rule, TokenBucket]>();

  constructor(limits: RateLimits) {
    this.#limits = limits;
  }

  /** Restarts the sequence of decisions for a retry of the request. */
  rewind(): void {
    this.#position = 0;
    this.#dispatched = 0;
  }

  /**
   * Applies the rules that do not depend on the caller. If exemptions exist, a refusal is delayed until the caller is known.
   *
   * @throws ServiceError clientAtCapacity
   */
  async arrive(request: ServiceRequest, place: Place): Promise<void> {
    this.#dispatched++;
    this.#taken = [];
    this.#refusal = await this.#decideOnce(() => this.#takeAll(this.#limits.early, request, place, undefined));
    const ignoresCaller = place.route === undefined || place.route.endpoint.ignoresCaller === true;
    if (this.#refusal !== undefined && (ignoresCaller || this.#limits.exempt.size === 0)) throw this.#refusal;
    // Without a caller, limits by user count by address.
    if (ignoresCaller) await this.#admit(request, place, undefined);
  }

  /**
   * Applies the rules that depend on the caller.
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
    // Groups need a call to the backend, which only requests make that would be refused otherwise.
    if (this.#limits.exempt.size > 0 && caller?.memberOf !== undefined) {
      const all = await caller.allPrincipals();
      if (all.some((principal) => this.#limits.exempt.has(principal))) return this.#giveBack();
    }
    throw refusal;
  }

  /** Adds the headers about the limits. */
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
    userId: UserId | undefined,
  ): Promise<ServiceError | undefined> {
    if (route?.endpoint.isVital === true) return undefined;
    for (const rule of rules) {
      if (!rule.isAbout(request.method, below)) continue;
      const who = whoOf(rule, request, userId);
      if (who === undefined) continue;
      const bucket = this.#limits.bucketOf(rule, who);
      this.#show(rule, bucket);
      // Batch entries may hold locks, so they do not wait for the cache.
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

/** Returns the key of the counted caller; `undefined` without a caller and an address. */
function whoOf({ by }: Rule, { clientAddress }: ServiceRequest, userId: UserId | undefined): string | undefined {
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
