// The root view: the service, its capabilities and the caller.
import { setKey, type JsonObject, type JsonValue, type MutableJsonObject } from '../../base/json.ts';
import { completeCaller, type Caller } from '../../engine/caller.ts';
import type { Context } from '../../engine/context.ts';
import { describeDocument } from '../../engine/description.ts';
import { forReading, type Endpoint } from '../../engine/endpoint.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';
import { cacheHeaders } from '../target.ts';

/** A feature that clients can detect. */
export interface Capability {
  readonly description: string;
  readonly url: string;
  readonly [extra: string]: JsonValue;
}

/** A capability that may change while the service runs; `undefined` when it is absent. */
export type CurrentCapability = () => Capability | undefined;

export interface RootOptions {
  readonly projectName: string;
  readonly projectVersion: string;
  readonly projectDocs: string;
  readonly httpApiVersion: string;
  readonly versionPrefix: string;
  readonly configFile: JsonObject | null;
  /** Raw value of the setting, when set. */
  readonly endOfService: string | undefined;
  readonly publicSettings: JsonObject;
  readonly capabilities: ReadonlyMap<string, Capability | CurrentCapability>;
  /** Members of `user` from plugins, such as the id of the personal bucket. */
  readonly userInfo: readonly ((caller: Caller) => JsonObject)[];
  readonly isReadonly: boolean;
  readonly cacheSeconds: number;
}

export function rootEndpoint(options: RootOptions): Endpoint {
  const handle = async ({ request, caller }: Pick<Context, 'request' | 'caller'>): Promise<ServiceResponse> =>
    jsonResponse(200, await describe(options, request.origin, caller), rootCaching(options, caller));
  return {
    name: 'hello',
    path: '/',
    isResource: false,
    isOpen: true,
    operations: forReading('server_info', { handle, describe: describeRoot }),
  };
}

function describeRoot(): ReturnType<typeof describeDocument> {
  const anything = { type: 'object', additionalProperties: true };
  const user = { ...anything, properties: { id: { type: 'string' } }, required: ['id'] };
  return describeDocument('Describes the service, its capabilities and the caller.', 'The service.', {
    project_name: { type: 'string' },
    project_version: { type: 'string' },
    http_api_version: { type: 'string' },
    project_docs: { type: 'string' },
    url: { type: 'string' },
    config: { description: 'Path, hash and date of the configuration file; null without one.' },
    settings: anything,
    capabilities: { type: 'object', additionalProperties: anything },
    eos: { type: 'string', description: 'The date of the end of service, if it is set.' },
    user: { ...user, description: 'The caller. Absent for anonymous callers.' },
  });
}

function rootCaching({ isReadonly, cacheSeconds }: RootOptions, { userId }: Caller): Record<string, string> {
  if (!isReadonly) return {};
  const headers = cacheHeaders(cacheSeconds);
  // The view contains the caller, so a cached response is for this caller only.
  if (userId === undefined) return { ...headers, Vary: 'Authorization' };
  return { ...headers, 'Cache-Control': `private, ${headers['Cache-Control']}` };
}

async function describe(options: RootOptions, origin: string, caller: Caller): Promise<JsonObject> {
  const view: MutableJsonObject = {
    project_name: options.projectName,
    project_version: options.projectVersion,
    http_api_version: options.httpApiVersion,
    project_docs: options.projectDocs,
    url: `${origin}${options.versionPrefix}/`,
    config: options.configFile,
    settings: options.publicSettings,
    capabilities: currentCapabilities(options.capabilities),
  };
  if (options.endOfService !== undefined) view['eos'] = options.endOfService;
  if (caller.userId !== undefined) {
    const complete = await completeCaller(caller);
    const user: MutableJsonObject = { id: caller.userId, principals: complete.knownPrincipals };
    for (const add of options.userInfo)
      for (const [key, value] of Object.entries(add(complete))) setKey(user, key, value);
    view['user'] = user;
  }
  return view;
}

function currentCapabilities(all: RootOptions['capabilities']): JsonObject {
  const current: [string, Capability][] = [];
  for (const [key, given] of all) {
    const capability = typeof given === 'function' ? given() : given;
    if (capability !== undefined) current.push([key, capability]);
  }
  return Object.fromEntries(current);
}
