// Accounts as a kind of object: their owners, checks, stored passwords and visibility.
import { getKey, setKey, valueCost, type JsonObject, type JsonValue, type MutableJsonObject } from '../../base/json.ts';
import { isLargeJson, largeTextChars } from '../../base/json-steps.ts';
import { invalidParameters, ServiceError } from '../../core/errors.ts';
import { formatAttributes, StoredObject } from '../../core/objects/stored.ts';
import type { Caller } from '../../engine/caller.ts';
import type { Complain, PendingWrite, ResourceKind, Viewer } from '../../engine/kind.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import { accountIds, accountList, accountPrincipal, findHash, ownAccount, proofOf } from './account.ts';
import { parseBasic } from '../../http/authentication/basic.ts';
import type { PreparedHashes } from './passwords.ts';
import { isTexts } from './mail-template.ts';
import type { Validation } from './validation.ts';

export interface AccountKindOptions {
  readonly hashes: PreparedHashes;
  /** Whether hashes are masked for all callers. */
  readonly hidesPasswords: boolean;
  readonly passwordLength: { readonly min: number; readonly max: number };
  /** Validation of e-mail addresses; `undefined` if they are not validated. */
  readonly validation: Validation | undefined;
  /** Revokes one-time codes of an account after a change, other than the one that the caller uses. */
  readonly forget: (id: string, change: 'create' | 'update' | 'delete', caller: Caller) => Promise<void>;
}

/** Shown in place of a hash. A client that sends it back keeps the password. */
const mask = '**********';

export function accountKind(options: AccountKindOptions): ResourceKind {
  const { hashes, validation, forget } = options;
  return {
    name: 'account',
    path: '/accounts',
    flavour: 'shareable',
    customIds: accountIds,
    ownerOf: accountPrincipal,
    anonymousListError: 'accountsNeedAuthentication',
    permissions: {
      names: ['read', 'write'],
      granted: {
        write: [{ kind: 'account', entry: 'write' }],
        read: [
          { kind: 'account', entry: 'write' },
          { kind: 'account', entry: 'read' },
        ],
      },
    },
    hiddenFields: ['password'],
    requiresData: true,
    describesAttributes: {
      type: 'object',
      properties: {
        password: { type: 'string', description: 'Responses show a mask, or the hash to administrators.' },
        ...(validation === undefined
          ? {}
          : {
              validated: { type: 'boolean' },
              'email-context': { type: 'object', additionalProperties: { type: 'string' } },
            }),
      },
      required: ['password'],
    },
    checkAttributes: (attributes, complain) => checkAttributes(attributes, complain, options),
    confirmCaller: confirmOwner(),
    async prepareWrite(write) {
      validation?.requireAddress(write);
      const password = newPassword(write);
      if (password !== undefined && !isShown(password)) await hashes.prepare(write, password);
    },
    beforeWrite: (write) => complete(write, options),
    present: (object, viewer) => (maySeeHash(object.id, viewer, options) ? object : masked(object)),
    afterChange: ({ action, new: { id }, caller }) => forget(id, action, caller),
  };
}

/**
 * Returns a function that requires the account of the caller to have the password hash that the request was authenticated with.
 * A request may wait for the hashing of a password while the account is deleted and belongs to another person, or gets another
 * password from its owner. Once a unit of work has the lock, only its own requests change accounts, and a batch goes on after
 * a new password.
 */
function confirmOwner(): NonNullable<ResourceKind['confirmCaller']> {
  const confirmed = new WeakMap<UnitOfWork, Set<string>>();
  return async ({ userId, proof }, unit, writer) => {
    const id = userId === undefined ? undefined : ownAccount(userId);
    if (id === undefined || proof === undefined) return;
    const known = confirmed.get(unit) ?? new Set();
    if (known.has(proof)) return;
    const account = await writer.storage.get(accountList, id, undefined);
    if (account === undefined || proofOf(findHash(account)) !== proof) throw new ServiceError('missingAuthToken');
    confirmed.set(unit, known.add(proof));
  };
}

function checkAttributes(
  attributes: JsonObject,
  complain: Complain,
  { validation, passwordLength: { min, max } }: AccountKindOptions,
): JsonObject {
  // Every request of a user reads the account, before any memory is reserved.
  if (isLargeJson(attributes)) {
    const description = `an account has at most ${largeTextChars} characters; each value counts as ${valueCost} more`;
    throw invalidParameters([{ location: 'body', name: 'data', description }]);
  }
  const password = getKey(attributes, 'password');
  if (password === undefined) complain('password', 'Required');
  else if (typeof password !== 'string' || password === '') complain('password', 'expected a text that is not empty');
  else if (!isShown(password) && (password.length < min || password.length > max)) {
    complain('password', `expected ${min} to ${max} characters`);
  }
  if (validation !== undefined) {
    const validated = getKey(attributes, 'validated');
    if (validated !== undefined && typeof validated !== 'boolean') complain('validated', 'expected true or false');
    const context = getKey(attributes, 'email-context');
    if (context !== undefined && !isTexts(context)) complain('email-context', 'expected an object of texts');
  }
  return attributes;
}

/** Returns whether the text is what responses show as a password, which clients may send back. */
export function isShown(password: string): boolean {
  return password === mask || /^\$(?:scrypt|2[aby])\$.{50}/.test(password);
}

/** Returns the sent password if it is none of the mask, the stored hash, and the current password of the caller. */
function newPassword(write: PendingWrite): string | undefined {
  const { attributes, old } = write;
  const password = getKey(attributes, 'password');
  if (typeof password !== 'string') return undefined;
  const isKept =
    old !== undefined && (password === mask || password === findHash(old) || isPasswordOfCaller(password, old, write));
  return isKept ? undefined : password;
}

/**
 * Whether callers set the password of their account again, other than by a patch, which names what is to change. With another
 * hash, their other requests under way would be refused.
 */
function isPasswordOfCaller(
  password: string,
  old: StoredObject,
  { id, request, writer: { caller } }: PendingWrite,
): boolean {
  if (request.method === 'PATCH' || caller.userId !== accountPrincipal(id) || caller.proof !== proofOf(findHash(old)))
    return false;
  return parseBasic(request.headers['authorization'])?.password === password;
}

/**
 * Requires a new password to be none that responses show, because readers would know it.
 *
 * @throws ServiceError invalidParameters
 */
function requireSecret(password: string): void {
  if (!isShown(password)) return;
  const description = 'a mask or hash is accepted only in place of the current password';
  throw invalidParameters([{ location: 'body', name: 'data.password', description }]);
}

/** Returns the attributes to store: the password hashed, and `validated` as administrators have set it. */
async function complete(write: PendingWrite, { hashes, validation }: AccountKindOptions): Promise<JsonObject> {
  const { once } = write.writer.caller;
  // The lock of the accounts is held, and what revokes a temporary password does so before it releases the lock.
  if (once !== undefined && !(await once.isValid(write.old?.lastModified ?? 0)))
    throw new ServiceError('missingAuthToken');
  validation?.requireAddress(write);
  const completed: MutableJsonObject = { ...write.attributes };
  const password = newPassword(write);
  if (password !== undefined) requireSecret(password);
  const hash =
    password === undefined && write.old !== undefined
      ? getKey(write.old.attributes, 'password')
      : await hashes.take(write, password ?? '');
  setKey(completed, 'password', hash ?? '');
  const validated = settledValidation(write, validation !== undefined);
  if (validated !== undefined) setKey(completed, 'validated', validated);
  if (write.old === undefined && validated === false) await validation?.begin(write, completed);
  return completed;
}

/** Returns the value of `validated` to store, which only administrators choose. */
function settledValidation(write: PendingWrite, isValidating: boolean): JsonValue | undefined {
  const sent = getKey(write.attributes, 'validated');
  const before = write.old === undefined ? undefined : getKey(write.old.attributes, 'validated');
  const standing = write.old === undefined && isValidating ? false : before;
  if (sent === undefined || sent === standing) return standing;
  if (write.writer.isAdministrator) return sent;
  if (write.old === undefined) {
    const description = 'only administrators choose what is validated';
    throw invalidParameters([{ location: 'body', name: 'data.validated', description }]);
  }
  throw new ServiceError('forbidden', { message: 'Only administrators may change what is validated.' });
}

function maySeeHash(id: string, viewer: Viewer, { hidesPasswords }: AccountKindOptions): boolean {
  return !hidesPasswords && (viewer.isAdministrator || viewer.caller.userId === accountPrincipal(id));
}

function masked(object: StoredObject): StoredObject {
  const attributes: MutableJsonObject = { ...object.attributes };
  setKey(attributes, 'password', mask);
  return new StoredObject(object.id, object.lastModified, formatAttributes(attributes));
}
