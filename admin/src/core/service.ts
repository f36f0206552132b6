// What the root view says about the service and the user.
import type { Api } from './api.ts';
import { memberText } from './json-text.ts';

export interface Provider {
  readonly name: string;
  readonly auth_path: string;
  readonly header_type: string;
}

export interface Service {
  readonly projectName: string;
  readonly version: string;
  readonly userId: string | undefined;
  readonly principals: readonly string[];
  /** Id of the personal bucket of the user. */
  readonly personalBucket: string | undefined;
  readonly isReadOnly: boolean;
  /** Whether the user may read the endpoints for operators. */
  readonly isOperator: boolean;
  readonly batchLimit: number;
  readonly capabilities: ReadonlySet<string>;
  /** The root view as JSON text, for areas that need more of it. */
  readonly text: string;
  readonly providers: readonly Provider[];
  /** Which clients may create an account: none, all, or those that confirm an e-mail address. */
  readonly signUp: 'none' | 'open' | 'confirmed';
}

interface RootView {
  readonly project_name: string;
  readonly project_version: string;
  readonly settings: { readonly readonly?: boolean; readonly batch_max_requests?: number };
  readonly user?: {
    readonly id: string;
    readonly principals?: readonly string[];
    readonly bucket?: string;
    readonly operations?: { readonly read: boolean };
  };
  readonly capabilities: {
    readonly openid?: { readonly providers?: readonly Provider[] };
    readonly operations?: { readonly public?: { readonly read: boolean } };
    readonly accounts?: { readonly sign_up_enabled?: boolean; readonly validation_enabled?: boolean };
  };
}

/** Requests without a limit in the root view are sent in batches of this size. */
const defaultBatchLimit = 25;

export async function loadService(api: Api): Promise<Service> {
  const { text } = await api.request('GET', '');
  const root = JSON.parse(text) as RootView;
  return {
    projectName: root.project_name,
    version: root.project_version,
    userId: root.user?.id,
    principals: root.user?.principals ?? [],
    personalBucket: root.user?.bucket,
    isReadOnly: root.settings.readonly === true,
    // The root view has no `user` for anonymous callers.
    isOperator: (root.user ?? { operations: root.capabilities.operations?.public }).operations?.read === true,
    batchLimit: root.settings.batch_max_requests ?? defaultBatchLimit,
    capabilities: new Set(Object.keys(root.capabilities)),
    text,
    providers: root.capabilities.openid?.providers ?? [],
    signUp: signUpOf(root),
  };
}

function signUpOf({ settings, capabilities: { accounts } }: RootView): Service['signUp'] {
  if (accounts?.sign_up_enabled !== true || settings.readonly === true) return 'none';
  return accounts.validation_enabled === true ? 'confirmed' : 'open';
}

/** Returns a capability as JSON text, such as `live` with its limits. */
export function capabilityText(service: Service, name: string): string | undefined {
  return memberText(memberText(service.text, 'capabilities') ?? '{}', name);
}
