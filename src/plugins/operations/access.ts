// The one check of access for all endpoints below `/operations`: their own and those of other parts of the service.
import type { Principal } from '../../core/permissions/principals.ts';
import { isNamed, refusal } from '../../engine/access.ts';
import type { Caller } from '../../engine/caller.ts';
import type { Context } from '../../engine/context.ts';
import type { Endpoint, Operation } from '../../engine/endpoint.ts';

export interface OperatorAccess {
  readonly readers: ReadonlySet<Principal>;
  readonly writers: ReadonlySet<Principal>;
}

/** Returns the endpoint with a check of access before everything else. */
export function guardEndpoint(endpoint: Endpoint, { readers, writers }: OperatorAccess): Endpoint {
  const operations = Object.entries(endpoint.operations).map(([method, operation]) => {
    const principals = method === 'GET' || method === 'HEAD' ? readers : writers;
    return [method, guardOperation(operation, principals)] as const;
  });
  return { ...endpoint, isForOperators: true, operations: Object.fromEntries(operations) };
}

function guardOperation(operation: Operation, principals: ReadonlySet<Principal>): Operation {
  const requireAccess = async ({ caller }: Pick<Context, 'caller'>): Promise<void> => {
    if (!(await isNamed({ principals }, caller))) throw refusal(caller);
  };
  return {
    ...operation,
    requireAccess,
    async handle(context) {
      await requireAccess(context);
      return operation.handle(context);
    },
  };
}

/** Describes for the root view what a caller, whose groups are known, may do; `undefined` for nothing. */
export function describeAccess(
  { readers, writers }: OperatorAccess,
  { knownPrincipals }: Pick<Caller, 'knownPrincipals'>,
): { readonly read: boolean; readonly write: boolean } | undefined {
  const [read, write] = [readers, writers].map((set) => knownPrincipals.some((principal) => set.has(principal)));
  return read === true || write === true ? { read: read === true, write: write === true } : undefined;
}
