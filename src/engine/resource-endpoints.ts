// Endpoints of compiled kinds: the list and the object of each kind, and its actions.
import { requireGranted, type AccessRule } from './access.ts';
import type { CompiledKind, KindSettings } from './compiled-kind.ts';
import { runVerb } from './conditional-write.ts';
import type { OperationDescription } from './description.ts';
import type { Endpoint, Method, Operation } from './endpoint.ts';
import type { ServiceResponse } from './exchange.ts';
import { describeKind, type KindDescriptions } from './kind-description.ts';
import { refuseLive } from './list-query.ts';
import { inOwnLists, openScope, type EngineOptions, type Scope } from './scope.ts';
import { methodSetting } from './setting-names.ts';
import { createObject } from './verbs/create.ts';
import { readList } from './verbs/list.ts';
import { modifyObject } from './verbs/modify.ts';
import { patchTypes } from './verbs/patch-format.ts';
import { readObject } from './verbs/read.ts';
import { removeList } from './verbs/remove-list.ts';
import { removeObject } from './verbs/remove.ts';
import { replaceObject } from './verbs/replace.ts';
import { warningHeader } from './warnings.ts';

/** An operation on an object besides the verbs, at an address below that of the object. */
export interface ResourceAction {
  /** Kind of the object. */
  readonly kind: string;
  /** Unique operation id, `validate_account`. */
  readonly id: string;
  /** Path below the address of the object, such as `/validate/{key}`. */
  readonly path: string;
  /** Rules of the parts in braces. */
  readonly parameters?: Endpoint['parameters'];
  readonly method: 'POST';
  /** Accepted media types of the body; absent: the body is ignored. */
  readonly consumes?: readonly string[];
  /** Describes parameters, body and responses. */
  readonly describe?: Operation['describe'];
  /** Handles the request. The action itself checks access. */
  readonly handle: (scope: Scope) => Promise<ServiceResponse>;
}

type Verb = (scope: Scope) => Promise<ServiceResponse>;

const json = ['application/json'];
const readable = ['Last-Modified', 'ETag', 'Cache-Control', 'Expires', 'Pragma', warningHeader];
const written = ['ETag', 'Last-Modified', warningHeader];
const followed = ['Next-Page', 'Resync'];
const totals = ['Total-Objects', 'Total-Records'];

/** Creates the endpoints of all kinds and their actions. Methods that settings disable are left out. */
export function resourceEndpoints(
  kinds: Iterable<CompiledKind>,
  options: EngineOptions,
  settings: KindSettings,
  actions: readonly ResourceAction[] = [],
): readonly Endpoint[] {
  return [...kinds].flatMap((kind) => {
    let described: KindDescriptions | undefined;
    const describe = (): KindDescriptions => (described ??= describeKind(kind));
    return [
      describedEndpoint(pluralEndpoint(kind, options, settings), () => describe().list),
      ...(kind.declaration.hasAddresses === false
        ? []
        : [describedEndpoint(objectEndpoint(kind, options, settings), () => describe().object)]),
      ...actions.filter((action) => action.kind === kind.name).map((action) => actionEndpoint(kind, options, action)),
    ];
  });
}

function actionEndpoint(kind: CompiledKind, options: EngineOptions, action: ResourceAction): Endpoint {
  const { id, path, method, consumes, describe, handle } = action;
  const declared = { ...(consumes === undefined ? {} : { consumes }), ...(describe === undefined ? {} : { describe }) };
  return {
    name: `${kind.name}-${id}`,
    path: `${kind.declaration.path}/{${kind.idName}}${path}`,
    ...(action.parameters === undefined ? {} : { parameters: action.parameters }),
    isResource: true,
    operations: {
      [method]: { id, ...declared, handle: async (context) => handle(await openScope(kind, options, context)) },
    },
  };
}

function pluralEndpoint(kind: CompiledKind, options: EngineOptions, settings: KindSettings): Endpoint {
  const { name, plural, declaration } = kind;
  const { readList: read, writeList: write, create } = kind.rules;
  const serve = (verb: Verb, ...rules: readonly AccessRule[]): Served => served(kind, options, verb, rules);
  const operations: Record<Exclude<Method, 'PUT' | 'PATCH'>, Operation> = {
    GET: { id: `get_${plural}`, exposes: [...followed, ...readable], ...serve(readList, read) },
    HEAD: { id: `head_${plural}`, exposes: ['Next-Page', ...readable, ...totals], ...serve(readList, read) },
    POST: { id: `create_${name}`, consumes: json, exposes: written, ...serve(createObject, create) },
    DELETE: { id: `delete_${plural}`, exposes: [...written, 'Next-Page'], ...serve(removeList, write) },
  };
  const { listMethods } = declaration;
  const kept = Object.entries(operations).filter(
    ([method]) => listMethods === undefined || listMethods.some((each) => each === method),
  );
  return {
    name: `${name}-plural`,
    tag: plural,
    path: declaration.path,
    isResource: true,
    isList: true,
    operations: enabled(Object.fromEntries(kept), (method) => methodSetting('plural', name, method), settings),
  };
}

function objectEndpoint(kind: CompiledKind, options: EngineOptions, settings: KindSettings): Endpoint {
  const { name, declaration } = kind;
  const { read, write, create } = kind.rules;
  const serve = (verb: Verb, ...rules: readonly AccessRule[]): Served => served(kind, options, verb, rules);
  const operations: Record<string, Operation> = {
    GET: { id: `get_${name}`, exposes: readable, ...serve(readObject, read) },
    HEAD: { id: `head_${name}`, exposes: readable, ...serve(readObject, read) },
    PUT: { id: `update_${name}`, consumes: json, exposes: written, ...serve(replaceObject, write, create) },
    PATCH: { id: `patch_${name}`, consumes: patchTypes, exposes: written, ...serve(modifyObject, write) },
    DELETE: { id: `delete_${name}`, exposes: written, ...serve(removeObject, write) },
  };
  return {
    name: `${name}-object`,
    tag: kind.plural,
    path: `${declaration.path}/{${kind.idName}}`,
    isResource: true,
    operations: enabled(operations, (method) => methodSetting('object', name, method), settings),
  };
}

type Served = Pick<Operation, 'handle'> & Required<Pick<Operation, 'requireAccess'>>;

/**
 * Returns the handler of a verb, and the access check for paths with an id that is not acceptable.
 *
 * @param rules any of which grants access in that check
 */
function served(kind: CompiledKind, options: EngineOptions, verb: Verb, rules: readonly AccessRule[]): Served {
  return {
    handle(context) {
      if (verb !== readList && context.query.length > 0) refuseLive(context);
      return runVerb(verb, openScope(kind, options, context, { isOnlyOperation: true }));
    },
    requireAccess: (context) => requireGranted(rules, inOwnLists(kind, context)),
  };
}

/** Returns the endpoint with a description of each method, created when the API is first described. */
function describedEndpoint(
  endpoint: Endpoint,
  describe: () => Readonly<Partial<Record<string, OperationDescription>>>,
): Endpoint {
  const operations = Object.entries(endpoint.operations).map(([method, operation]): [string, Operation] => [
    method,
    { ...operation, describe: () => describe()[method]! },
  ]);
  return { ...endpoint, operations: Object.fromEntries(operations) };
}

function enabled(
  operations: Record<string, Operation>,
  settingOf: (method: string) => string,
  settings: KindSettings,
): Readonly<Partial<Record<Method, Operation>>> {
  const kept = Object.entries(operations).filter(([method]) => settings.flag(settingOf(method.toLowerCase()), true));
  return Object.fromEntries(kept);
}
