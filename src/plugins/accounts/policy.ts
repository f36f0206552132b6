// The accounts policy: checks Basic credentials against accounts. A password that was recently correct passes a quick check
// in place of the slow one. Wrong passwords are counted, and above the limit they are refused unchecked. The quick check
// counts nothing, so it must not confirm guesses. It applies only to addresses that have sent the right password, until
// they exceed the limit of failures.
import { LRUCache } from 'lru-cache';
import type {
  AuthenticationPolicy,
  Credentials,
  Identity,
  OnceIdentity,
  OnceRequest,
} from '../../contracts/authentication.ts';
import type { CacheBackend } from '../../contracts/cache.ts';
import { BackendUnavailable } from '../../contracts/errors.ts';
import type { StorageReader } from '../../contracts/storage.ts';
import { getKey, isJsonObject } from '../../base/json.ts';
import { ServiceError } from '../../core/errors.ts';
import { addressGroup } from '../../http/address-group.ts';
import { parseBasic } from '../../http/authentication/basic.ts';
import { cacheSecret, digest, equalDigests } from './account-cache.ts';
import { isShown } from './account-kind.ts';
import { accountIds, accountList, accountUri, findHash, policyName, proofOf } from './account.ts';
import type { OneTimeCodes } from './one-time-codes.ts';
import type { Passwords } from './passwords.ts';
import type { Throttle } from './throttle.ts';

export interface AccountsPolicyOptions {
  readonly realm: string;
  readonly secret: string;
  readonly cache: CacheBackend;
  readonly storage: StorageReader;
  readonly passwords: Passwords;
  readonly throttle: Throttle;
  readonly cacheTtlSeconds: number;
  /** Maximum length of an account id; 0 means unlimited. */
  readonly maxIdLength: number;
  /** Whether a later policy accepts Basic credentials of other users, so that unknown names are passed on above the limits. */
  readonly isFollowed: boolean;
  /** Temporary passwords; `undefined` if disabled. */
  readonly temporary: OneTimeCodes | undefined;
}

type Login = NonNullable<ReturnType<typeof parseBasic>>;

export class AccountsPolicy implements AuthenticationPolicy {
  readonly name = policyName;
  readonly challenge: string;
  readonly #options: AccountsPolicyOptions;
  /**
   * Slow checks in progress, by account and address, then by password. Concurrent requests with the same credentials share
   * one check.
   */
  readonly #checks = new Map<string, Map<string, Promise<boolean>>>();
  /** Cache keys whose lifetime was extended within a quarter of it, so that not every request does it. */
  readonly #renewed = new LRUCache<string, true>({ max: 10_000 });

  constructor(options: AccountsPolicyOptions) {
    this.#options = options;
    this.challenge = `Basic realm="${options.realm}"`;
  }

  async authenticate({ headers, address }: Credentials): Promise<Identity | undefined> {
    const login = this.#parse(headers['authorization']);
    if (login === undefined) return undefined;
    const { cache, storage, secret, cacheTtlSeconds } = this.#options;
    const accountSecret = cacheSecret(secret, login.user);
    const key = digest(accountSecret, address === undefined ? '' : addressGroup(address));
    const wasBeingChecked = this.#checks.has(key);
    const [account, verified] = await Promise.all([storage.get(accountList, login.user), cache.get(key)]);
    const hash = account === undefined ? undefined : findHash(account);
    const isValidated = account !== undefined && getKey(account.attributes, 'validated') !== false;
    // Bound to the hash, so that the cache entry becomes invalid when any process changes the password.
    const fingerprint = digest(`${accountSecret}${hash ?? ''}`, login.password);
    const isQuick = !wasBeingChecked && !this.#checks.has(key);
    let isRight = isQuick && hash !== undefined && equalDigests(verified, fingerprint);
    if (isRight) this.#renew(key, cacheTtlSeconds);
    else {
      isRight = await this.#checkOnce(login, { key, hash, isValidated, fingerprint, address });
      if (isRight) await cache.set(key, fingerprint, cacheTtlSeconds);
    }
    if (!isRight) return undefined;
    if (isValidated) return { id: login.user, proof: proofOf(hash) };
    // The right password is never another user.
    if (this.#options.isFollowed) throw new ServiceError('missingAuthToken');
    return undefined;
  }

  /** Accepts a temporary password for a request that only sets a new password. */
  async authenticateOnce({ headers }: Credentials, request: OnceRequest): Promise<OnceIdentity | undefined> {
    const { temporary } = this.#options;
    if (temporary === undefined || !['PUT', 'PATCH'].includes(request.method)) return undefined;
    const login = this.#parse(headers['authorization']);
    if (login === undefined || request.path !== accountUri(login.user) || !setsPasswordOnly(request)) return undefined;
    const credentials = await temporary.hold(login.user, login.password);
    return credentials && { id: login.user, credentials };
  }

  #parse(header: string | undefined): Login | undefined {
    const { maxIdLength } = this.#options;
    const login = parseBasic(header);
    if (login === undefined || !accountIds.match(login.user)) return undefined;
    return maxIdLength > 0 && login.user.length > maxIdLength ? undefined : login;
  }

  #renew(key: string, ttlSeconds: number): void {
    if (this.#renewed.has(key)) return;
    this.#renewed.set(key, true, { ttl: Math.max(1, ttlSeconds * 250) });
    // The request does not wait. If this fails, the next slow check only comes earlier.
    this.#options.cache.expire(key, ttlSeconds).catch(() => this.#renewed.delete(key));
  }

  #checkOnce(login: Login, given: Given): Promise<boolean> {
    const { key, fingerprint } = given;
    const checks = this.#checks.get(key) ?? new Map<string, Promise<boolean>>();
    const begun = checks.get(fingerprint);
    if (begun !== undefined) return begun;
    const check = this.#check(login, given).finally(() => {
      checks.delete(fingerprint);
      if (checks.size === 0) this.#checks.delete(key);
    });
    this.#checks.set(key, checks.set(fingerprint, check));
    return check;
  }

  async #check(login: Login, { key, hash, isValidated, fingerprint, address }: Given): Promise<boolean> {
    const { cache, passwords, throttle, isFollowed } = this.#options;
    // Repeated wrong credentials are not counted again, so a client with an old password does not lock the account.
    const refused = digest(fingerprint, 'refused');
    if ((await cache.get(refused)) === true) {
      this.#renew(refused, throttle.windowSeconds);
      return false;
    }
    // Credentials of an account are never passed on unchecked: the right password would become another user.
    const isPassedOn = isFollowed && hash === undefined;
    const attempt = await throttle.begin(login.user, address);
    if ('retryAfterSeconds' in attempt) {
      await cache.delete(key);
      if (isPassedOn) return false;
      throw new ServiceError('clientAtCapacity', { headers: { 'Retry-After': String(attempt.retryAfterSeconds) } });
    }
    let isRight: boolean;
    try {
      isRight = await passwords.matches(login.password, hash, { address, isKnown: attempt.isKnown });
    } catch (error) {
      // A check that fails counts, because the password may be the cause.
      if (!(error instanceof BackendUnavailable)) throw error;
      // The queue is full, and the password was not checked.
      await attempt.takeBack();
      if (isPassedOn) return false;
      throw error;
    }
    if (isRight && isValidated) await attempt.succeed();
    else if (isRight) await attempt.takeBack();
    else await cache.set(refused, true, throttle.windowSeconds);
    return isRight;
  }
}

interface Given {
  /** Cache key of the account and address. */
  readonly key: string;
  readonly hash: string | undefined;
  /** Without a confirmed address, the account may have been created by another person than the owner of the address. */
  readonly isValidated: boolean;
  readonly fingerprint: string;
  readonly address: string | undefined;
}

/** Returns whether the body is exactly `{"data": {"password": …}}`, with a password that can be set. */
function setsPasswordOnly({ readBody }: OnceRequest): boolean {
  const body = readBody();
  if (!isJsonObject(body) || Object.keys(body).join() !== 'data') return false;
  const data = getKey(body, 'data');
  if (!isJsonObject(data) || Object.keys(data).join() !== 'password') return false;
  const password = getKey(data, 'password');
  return typeof password === 'string' && !isShown(password);
}
