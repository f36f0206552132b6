// Endpoints for operators: the configured webhooks, and their failed deliveries (dead letters), which can be retried or deleted.
import type { JsonObject, JsonValue } from '../base/json.ts';
import { isJsonObject, JsonSyntaxError, parseJson } from '../base/json.ts';
import type { StorageWriter } from '../contracts/storage.ts';
import { ServiceError } from '../core/errors.ts';
import type { ListParent } from '../core/objects/uris.ts';
import type { Context } from '../engine/context.ts';
import { objectWith, type OperationDescription } from '../engine/description.ts';
import { forReading, plainText, type Endpoint, type Operation } from '../engine/endpoint.ts';
import { jsonResponse, type ServiceResponse } from '../engine/exchange.ts';
import { deletionHeaders } from '../engine/list-parameters.ts';
import {
  describedToken,
  describeLimit,
  formatPosition,
  limitOf,
  nextPageHeader,
  parsePosition,
  positionOf,
  readPlainParameters,
} from '../engine/plain-parameters.ts';
import type { EngineOptions } from '../engine/scope.ts';
import { roomFor } from '../engine/stored-work.ts';
import { emptyDeadLetters, readFailures, takeDeadLetter, type FailurePosition } from './dead-letters.ts';
import type { Webhook } from './listener.ts';
import { deadKind, parseDelivery, pendingKind } from './outbox.ts';

const maxPage = 100;
const pageByDefault = 50;
/** Maximum number of failures that one request moves or deletes. */
const maxMoved = 1000;

interface Options {
  readonly webhooks: ReadonlyMap<string, Webhook>;
  readonly versionPrefix: string;
}

/** Returns the endpoints of the area `webhooks`, without a check of access. */
export function webhookEndpoints(webhooks: readonly Webhook[], engine: EngineOptions): readonly Endpoint[] {
  const { versionPrefix } = engine;
  const options: Options = { webhooks: new Map(webhooks.map((each) => [each.name, each])), versionPrefix };
  const path = '/operations/webhooks';
  const parameters = { webhook: plainText, failure: plainText };
  const common = { tag: 'operations', isResource: false, parameters } as const;
  return [
    {
      ...common,
      name: 'operations-webhooks',
      path,
      operations: forReading('get_webhooks', {
        handle: (context) => listWebhooks(options, context),
        describe: describeWebhooks,
      }),
    },
    {
      ...common,
      name: 'operations-failures',
      path: `${path}/{webhook}/failures`,
      operations: {
        ...forReading(
          'get_webhook_failures',
          { handle: (context) => listFailures(options, context), describe: describeFailures },
          ['Next-Page'],
        ),
        DELETE: emptying('delete_webhook_failures', 'Deletes failed deliveries of a webhook.', options, false),
      },
    },
    {
      ...common,
      name: 'operations-failure',
      path: `${path}/{webhook}/failures/{failure}`,
      operations: { DELETE: taking('delete_webhook_failure', 'Deletes a failed delivery.', options, false) },
    },
    {
      ...common,
      name: 'operations-failure-retry',
      path: `${path}/{webhook}/failures/{failure}/retry`,
      operations: { POST: taking('retry_webhook_failure', 'Retries a failed delivery.', options, true) },
    },
    {
      ...common,
      name: 'operations-webhook-retry',
      path: `${path}/{webhook}/retry`,
      operations: { POST: emptying('retry_webhook', 'Retries failed deliveries of a webhook.', options, true) },
    },
  ];
}

async function listWebhooks({ webhooks }: Options, context: Context): Promise<ServiceResponse> {
  readPlainParameters(context, {});
  const counts = await context.unit.reader.storage.countKinds();
  const data = Array.from(webhooks.values(), ({ name, url }) => ({
    name,
    url,
    pending: counts.get(pendingKind(name))?.objects ?? 0,
    failed: counts.get(deadKind(name))?.objects ?? 0,
  }));
  return jsonResponse(200, { data });
}

async function listFailures(options: Options, context: Context): Promise<ServiceResponse> {
  const { name } = requireWebhook(options, context);
  const { _limit = pageByDefault, _token } = readPlainParameters(context, {
    _limit: limitOf(maxPage),
    _token: positionOf(isFailurePosition),
  });
  const { failures, next } = await readFailures(context.unit.reader.storage, name, { after: _token, limit: _limit });
  const data = failures.map(({ parent, stored }) => {
    const { id, created, attempts, reason, body } = parseDelivery(stored);
    return {
      id: formatPosition([parent, id]),
      created,
      attempts,
      reason,
      body_bytes: Buffer.byteLength(body),
      event: readPayload(body) ?? null,
    };
  });
  const headers = nextPageHeader(context, options.versionPrefix, next);
  return jsonResponse(200, { data }, headers);
}

/** Creates an operation on all failures of a webhook. */
function emptying(id: string, summary: string, options: Options, retry: boolean): Operation {
  return {
    id,
    describe: () =>
      describeMove(summary, `At most ${maxMoved} in one request: \`more\` reports whether others remain.`),
    async handle(context) {
      const webhook = requireWebhook(options, context);
      readPlainParameters(context, {});
      const { storage } = await context.unit.writer();
      let count = 0;
      const lists = (await storage.listParents(deadKind(webhook.name))).toSorted();
      for (const parent of lists) {
        if (count >= maxMoved) break;
        const list = { name: webhook.name, parent };
        for (let moved = -1; moved !== 0 && count < maxMoved; count += moved) {
          moved = await emptyDeadLetters(storage, list, { retry, now: context.now });
        }
        if (retry) context.unit.afterCommit(() => webhook.wake(parent));
      }
      const more = count >= maxMoved && (await storage.listParents(deadKind(webhook.name))).length > 0;
      return jsonResponse(200, { data: { count, more } });
    },
  };
}

/** Creates an operation on one failure. */
function taking(id: string, summary: string, options: Options, retry: boolean): Operation {
  return {
    id,
    describe: () => ({ ...describeMove(summary), errors: [404] }),
    async handle(context) {
      const webhook = requireWebhook(options, context);
      readPlainParameters(context, {});
      const place = parsePosition(context.parameters['failure'] ?? '', isFailureId);
      if (place === undefined) throw new ServiceError('missingObject');
      const [parent, failure] = place;
      // A request for an unknown failure must not create a list, or wait for writers.
      const list = { kind: deadKind(webhook.name), parent };
      const found = await context.unit.reader.storage.get(list, failure, roomFor(context, 'show'));
      if (found === undefined) throw new ServiceError('missingObject');
      const { storage }: { readonly storage: StorageWriter } = await context.unit.writer();
      const isTaken = await takeDeadLetter(
        storage,
        { name: webhook.name, parent, id: failure },
        { retry, now: context.now },
      );
      if (!isTaken) throw new ServiceError('missingObject');
      if (retry) context.unit.afterCommit(() => webhook.wake(parent));
      return jsonResponse(200, { data: { count: 1, more: false } });
    },
  };
}

/** @throws ServiceError missingObject */
function requireWebhook({ webhooks }: Options, { parameters }: Context): Webhook {
  const webhook = webhooks.get(parameters['webhook'] ?? '');
  if (webhook === undefined) throw new ServiceError('missingObject');
  return webhook;
}

function isFailurePosition(value: JsonValue): value is FailurePosition {
  const [parent, time, ...others] = partsOf(value);
  return isText(parent) && Number.isSafeInteger(time) && others.length === 0;
}

function isFailureId(value: JsonValue): value is readonly [parent: ListParent, id: string] {
  const [parent, id, ...others] = partsOf(value);
  return isText(parent) && isText(id) && others.length === 0;
}

function partsOf(value: JsonValue): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** Whether every backend can look for the text. */
function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && plainText.accepts(value);
}

/** Returns the payload at the beginning of a body; `undefined` if it cannot be read. The objects behind it are not parsed. */
function readPayload(body: string): JsonObject | undefined {
  const start = '{"payload":';
  // Quotes inside the payload are escaped, so the first match ends it.
  const end = /,"(?:impacted|read)_objects":\[/.exec(body)?.index ?? -1;
  if (!body.startsWith(start) || end === -1) return undefined;
  try {
    const payload = parseJson(body.slice(start.length, end));
    return isJsonObject(payload) ? payload : undefined;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };

function describeWebhooks(): OperationDescription {
  const items = objectWith({ name: text, url: text, pending: count, failed: count });
  return {
    summary: 'Returns the configured webhooks, and the numbers of their deliveries.',
    responses: { 200: { description: 'The webhooks.', schema: objectWith({ data: { type: 'array', items } }) } },
  };
}

function describeFailures(): OperationDescription {
  const items = objectWith({
    id: text,
    created: count,
    attempts: count,
    reason: text,
    body_bytes: count,
    event: { type: ['object', 'null'] },
  });
  const schema = objectWith({ data: { type: 'array', items } });
  return {
    summary: 'Returns failed deliveries of a webhook.',
    parameters: [describeLimit(maxPage, pageByDefault), describedToken],
    responses: { 200: { description: 'The failed deliveries.', schema, headers: deletionHeaders } },
    errors: [404],
  };
}

function describeMove(summary: string, details?: string): OperationDescription {
  const schema = objectWith({ data: objectWith({ count, more: { type: 'boolean' } }) });
  return {
    summary,
    ...(details === undefined ? {} : { details }),
    responses: { 200: { description: 'The number of deliveries.', schema } },
    errors: [404],
  };
}
