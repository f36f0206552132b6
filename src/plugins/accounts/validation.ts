// Accounts with e-mail addresses: activation before the first login, and temporary passwords for forgotten ones.
import { getKey, isJsonObject, type JsonObject } from '../../base/json.ts';
import { fillTemplate } from '../../base/template.ts';
import { runAtOnce } from '../../base/steps.ts';
import type { Logger } from '../../contracts/logger.ts';
import type { Mailer } from '../../contracts/mailer.ts';
import type { SecurityEntry, SecurityKey, SecurityState } from '../../contracts/security-state.ts';
import { SecurityStateFull } from '../../contracts/errors.ts';
import { invalidParameters, ServiceError } from '../../core/errors.ts';
import { formatEntry, type ListKey } from '../../core/objects/stored.ts';
import { parseBody, parseEnvelope } from '../../engine/envelope.ts';
import { describeDocument, type OperationDescription } from '../../engine/description.ts';
import { plainText } from '../../engine/endpoint.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';
import type { PendingWrite } from '../../engine/kind.ts';
import { presentObject } from '../../engine/visibility.ts';
import type { ResourceAction } from '../../engine/resource-endpoints.ts';
import { settleWith } from '../../engine/held-entry.ts';
import { timestampHeaders } from '../../engine/respond.ts';
import type { UnitOfWork } from '../../engine/unit-of-work.ts';
import { objectId, requireNoIssues, type Scope } from '../../engine/scope.ts';
import { changeObject } from '../../engine/write-object.ts';
import { addressGroup, requesterOf } from '../../http/address-group.ts';
import { digest } from './account-cache.ts';
import { isTexts, placeholdersOf, type MailTemplate } from './mail-template.ts';
import type { OneTimeCodes } from './one-time-codes.ts';

export interface ValidationOptions {
  readonly addressForm: RegExp;
  readonly sender: string;
  readonly templates: Readonly<Record<'activation' | 'confirmation' | 'reset', MailTemplate>>;
  readonly resetMailsPerHour: number;
  readonly resetRequestsPerAddressPerHour: number;
  readonly activation: OneTimeCodes;
  readonly temporary: OneTimeCodes;
  readonly securityState: SecurityState;
  readonly secret: string;
  readonly mailer: Mailer;
  readonly logger: Logger;
}

const anHour = 3600;

export class Validation {
  readonly #options: ValidationOptions;

  constructor(options: ValidationOptions) {
    this.#options = options;
  }

  /**
   * Requires the id of a new account to be an address.
   *
   * @throws ServiceError invalidParameters
   */
  requireAddress({ action, id }: Pick<PendingWrite, 'action' | 'id'>): void {
    if (action !== 'create' || this.#options.addressForm.test(id)) return;
    throw invalidParameters([{ location: 'body', name: 'data.id', description: 'expected an e-mail address' }]);
  }

  /** Issues the activation key of a new account, and sends it after the commit. */
  async begin({ id, unit, request }: PendingWrite, attributes: JsonObject): Promise<void> {
    const key = await this.#options.activation.issueWith(unit, id, requesterOf(request.clientAddress));
    unit.afterCommit(() => this.#post('activation', id, attributes, { 'activation-key': key }));
  }

  /** Serves `POST /accounts/{account_id}/validate/{key}` and `POST /accounts/{account_id}/reset-password`. */
  get actions(): readonly ResourceAction[] {
    return [
      {
        kind: 'account',
        id: 'validate_account',
        path: '/validate/{key}',
        parameters: { key: plainText },
        method: 'POST',
        describe: describeValidation,
        handle: (scope) => this.#validate(scope),
      },
      {
        kind: 'account',
        id: 'reset_account_password',
        path: '/reset-password',
        method: 'POST',
        consumes: ['application/json'],
        describe: describeReset,
        handle: (scope) => this.#resetPassword(scope),
      },
    ];
  }

  async #validate(scope: Scope): Promise<ServiceResponse> {
    const { context } = scope;
    const { unit } = context;
    requireNoIssues(scope);
    const id = objectId(scope);
    const held = await this.#options.activation.hold(id, context.parameters['key']!);
    if (held === undefined) throw wrongKey();
    settleWith(unit, held);
    let version = 0;
    const written = await changeObject(scope, {
      attributes(account) {
        if (account === undefined) return undefined;
        version = account.lastModified;
        return { ...account.attributes, validated: true };
      },
      // The attributes are those that were stored, with the password hashed.
      isVerbatim: true,
    });
    // The lock of the accounts is held now. Before, another request may have deleted the account and created it anew.
    if (written === undefined || !(await held.isValid(version))) {
      unit.setRollbackOnly();
      throw wrongKey();
    }
    const { object } = written;
    unit.afterCommit(() => this.#post('confirmation', id, object.attributes, {}));
    const body = formatEntry(presentObject(scope, object));
    return { status: 200, headers: timestampHeaders(object.lastModified), body };
  }

  /**
   * Accepts a request for a temporary password. The account is looked up after the response has been sent, so neither its
   * content nor its time reveals whether the account exists.
   */
  async #resetPassword(scope: Scope): Promise<ServiceResponse> {
    const { context, list } = scope;
    const { addressForm } = this.#options;
    await context.request.body.load();
    const mailContext = readMailContext(scope);
    const id = objectId(scope);
    if (!addressForm.test(id)) {
      throw invalidParameters([{ location: 'body', name: 'data.id', description: 'expected an e-mail address' }]);
    }
    const { clientAddress } = context.request;
    const requester = requesterOf(clientAddress);
    const { unit } = context;
    if (clientAddress === undefined || (await this.#mayCountAddress(unit, clientAddress))) {
      unit.afterCommit(() => {
        setImmediate(() => void this.#mailPassword(unit, list, { id, mailContext, requester }));
      });
    }
    return jsonResponse(200, { message: 'A temporary password was sent by mail, if there is such an account.' });
  }

  /** Sends a temporary password, if the account exists. */
  async #mailPassword(unit: UnitOfWork, list: ListKey, { id, mailContext, requester }: ResetRequest): Promise<void> {
    const { temporary, logger, resetMailsPerHour } = this.#options;
    try {
      const account = await unit.reader.storage.get(list, id, undefined);
      if (account === undefined) return;
      // Counted for existing accounts only, so that invented names cannot fill the security state.
      const ofAccount = { requester: undefined, isBoundElsewhere: true };
      if (!(await this.#mayCount({ ...this.#counter(`to ${id}`), ...ofAccount }, resetMailsPerHour))) return;
      const password = await temporary.issue(id, requester);
      this.#post('reset', id, { ...account.attributes, ...mailContext }, { 'reset-password': password });
    } catch (error) {
      logger.error({ err: error }, 'A temporary password could not be sent');
    }
  }

  /**
   * Counts a request, and returns whether the limit of this hour allows it. If clients with many addresses have used up all
   * entries, it is allowed. The counter of each account, which always has room, still limits the mails.
   */
  async #mayCount(counter: SecurityEntry, limit: number): Promise<boolean> {
    try {
      return (await this.#options.securityState.increment(counter, { limit, ttlSeconds: anHour })) === undefined;
    } catch (error) {
      if (error instanceof SecurityStateFull) return error.scope === 'purpose';
      throw error;
    }
  }

  /** Counts a request of an address once, also when the unit of work runs several times. */
  async #mayCountAddress(unit: UnitOfWork, address: string): Promise<boolean> {
    const counter = this.#counter(`by ${addressGroup(address)}`);
    const { securityState, resetRequestsPerAddressPerHour: limit } = this.#options;
    if (!(await this.#mayCount({ ...counter, requester: requesterOf(address) }, limit))) return false;
    unit.onAbandon((fate) => (fate === 'undone' ? securityState.decrement(counter) : undefined));
    return true;
  }

  #counter(of: string): SecurityKey {
    return { purpose: 'reset-mail', key: digest(this.#options.secret, `accounts:mails:${of}`) };
  }

  #post(
    kind: keyof ValidationOptions['templates'],
    id: string,
    attributes: JsonObject,
    own: Readonly<Record<string, string>>,
  ): void {
    const { mailer, sender, templates } = this.#options;
    const placeholders = placeholdersOf(attributes, { ...own, id });
    const { subject, body } = templates[kind];
    mailer.post({
      to: [id],
      sender,
      subject: fillTemplate(subject, placeholders),
      text: fillTemplate(body, placeholders),
    });
  }
}

function describeValidation(): OperationDescription {
  const properties = { id: { type: 'string' }, last_modified: { type: 'integer' } };
  return {
    summary: 'Confirms the address of an account by the key that was sent to it.',
    responses: {
      200: { description: 'The account.', schema: { type: 'object', properties, additionalProperties: true } },
    },
    errors: [409],
  };
}

function describeReset(): OperationDescription {
  const texts = { type: 'object', additionalProperties: { type: 'string' } };
  const data = { type: 'object', properties: { 'email-context': texts }, additionalProperties: true };
  return {
    ...describeDocument('Sends a temporary password by e-mail.', 'The request is accepted.', {
      message: { type: 'string' },
    }),
    body: { 'application/json': { type: 'object', properties: { data } } },
  };
}

interface ResetRequest {
  readonly id: string;
  readonly mailContext: JsonObject;
  readonly requester: string | undefined;
}

function wrongKey(): ServiceError {
  return new ServiceError('forbidden', { message: 'The account and the activation key do not match.' });
}

/** Reads the optional body `{"data": {"email-context": {…}}}`. */
function readMailContext(scope: Scope): JsonObject {
  const { kind, context } = scope;
  const { request, issues } = context;
  const body = request.body.isEmpty ? {} : runAtOnce(parseBody(request.body, issues));
  const data = body === undefined ? undefined : parseEnvelope(body, kind.permissions, issues).data;
  const mailContext = data === undefined ? undefined : getKey(data, 'email-context');
  if (mailContext !== undefined && !isTexts(mailContext)) {
    issues.push({ location: 'body', name: 'data.email-context', description: 'expected an object of texts' });
  }
  requireNoIssues(scope);
  return isJsonObject(mailContext) ? { 'email-context': mailContext } : {};
}
