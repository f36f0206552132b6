// Query parameters of the login endpoints.
import type { Issue } from '../../core/errors.ts';
import { invalidParameters, type ServiceError } from '../../core/errors.ts';
import type { Context } from '../../engine/context.ts';
import type { Provider, Providers } from './provider.ts';

/** Returns the provider in the path. */
export function requireProvider({ parameters }: Context, providers: Providers): Provider {
  const provider = providers.get(parameters['provider'] ?? '');
  if (provider === undefined) throw refuse({ location: 'path', name: 'provider', description: 'unknown provider' });
  return provider;
}

/** Returns an optional parameter, and adds an issue if it is repeated. */
export function readOnce({ query }: Context, name: string, issues: Issue[]): string | undefined {
  const values = query.flatMap(([key, value]) => (key === name ? [value] : []));
  if (values.length > 1) issues.push(inQuery(name, 'given more than once'));
  return values[0];
}

/** Returns a required parameter. If it is missing, adds an issue and returns an empty string. */
export function requireOnce(context: Context, name: string, issues: Issue[]): string {
  const value = readOnce(context, name, issues) ?? '';
  if (value === '') issues.push(inQuery(name, 'Required'));
  return value;
}

export function inQuery(name: string, description: string): Issue {
  return { location: 'querystring', name, description };
}

/** Returns the error for one issue. */
export function refuse(issue: Issue): ServiceError {
  return invalidParameters([issue]);
}
