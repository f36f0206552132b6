// Settings that work but are risky.
import { builtInBackends } from '../backends/built-in-backends.ts';
import { backendKinds } from '../settings/backend-description.ts';
import { durableNames, findBackend, findVolatileChoices } from '../settings/backend-settings.ts';
import { isEveryAddress, isLoopback } from '../settings/loopback.ts';
import { policyClass } from '../settings/kinto-names.ts';
import type { Settings } from '../settings/settings.ts';

/** Returns a sentence for each risk, with a remedy. */
export function findRisks(settings: Settings): readonly string[] {
  return [
    ...findExposure(settings),
    ...ofNetwork(settings),
    ...ofSecrets(settings),
    ...findVolatility(settings),
    ...ofBackends(settings),
    ...ofAccess(settings),
  ];
}

/**
 * Returns a sentence for each right that any client on the network has: to create buckets, and to read about the service or
 * to act on it. With Basic authentication every pair of name and password is a user. The start logs them as well.
 */
export function findExposure(settings: Settings): readonly string[] {
  return [...ofBuckets(settings), ...ofOperations(settings)];
}

function ofOperations(settings: Settings): readonly string[] {
  if (!settings.get('includes').includes('operations')) return [];
  const host = settings.get('host');
  const isReachable = !isLoopback(host) && (takesAnyPassword(settings) || mayRegister(settings));
  return ['operations_read_principals', 'operations_write_principals'].flatMap((name) => {
    const principals = settings.lookupList(name) ?? [];
    if (principals.includes('system.Everyone')) {
      return [`${name} names system.Everyone: any client may use the endpoints for operators. Name users or groups.`];
    }
    if (!isReachable || !principals.includes('system.Authenticated')) return [];
    return [
      `host is ${host}, and ${name} names system.Authenticated, which any client can become: name users or groups.`,
    ];
  });
}

/** Whether any client may create an account. */
function mayRegister(settings: Settings): boolean {
  return (
    settings.get('includes').includes('accounts') &&
    (settings.lookupList('account_create_principals') ?? []).includes('system.Everyone')
  );
}

function ofBuckets(settings: Settings): readonly string[] {
  const host = settings.get('host');
  const creators = settings.get('bucket_create_principals');
  const isOpen =
    creators.includes('system.Everyone') || (creators.includes('system.Authenticated') && takesAnyPassword(settings));
  if (isLoopback(host) || !isOpen) return [];
  return [
    `host is ${host}, and any client may create buckets: name users in bucket_create_principals, or authenticate with a policy that knows its users, such as accounts.`,
  ];
}

/** Returns a sentence when objects or permissions are kept in memory. The start logs it as well. */
export function findVolatility(settings: Settings): readonly string[] {
  const names = findVolatileChoices(settings, builtInBackends);
  if (names.length === 0) return [];
  const verb = names.length === 1 ? 'is' : 'are';
  return [
    `${names.join(' and ')} ${verb} memory, the default of a configuration file: all data in memory is lost when the service stops. Use ${durableNames(builtInBackends)}.`,
  ];
}

/** Whether Basic authentication is on, where each pair of name and password is a user. */
export function takesAnyPassword(settings: Settings): boolean {
  return settings.get('multiauth.policies').some((name) => {
    const use = settings.lookup(`multiauth.policy.${name}.use`) ?? name;
    return policyClass(use) === 'BasicAuthAuthenticationPolicy';
  });
}

function ofNetwork(settings: Settings): readonly string[] {
  return [...ofAdminPort(settings), ...ofPublicPort(settings), ...ofHostNames(settings)];
}

function ofAdminPort(settings: Settings): readonly string[] {
  const host = settings.get('admin_host');
  if (settings.get('admin_port') === undefined || isLoopback(host)) return [];
  return [`admin_host is ${host}: admin_port needs no credentials. Let only operators reach it.`];
}

function ofPublicPort(settings: Settings): readonly string[] {
  const host = settings.get('host');
  if (isLoopback(host)) return [];
  const risks: string[] = [];
  if (settings.get('http_scheme') !== 'https' && settings.get('trusted_proxies').length === 0) {
    risks.push(
      `host is ${host}, and no setting shows that a proxy adds TLS: credentials are sent unencrypted. Put a proxy in front, and set http_scheme = https or trusted_proxies.`,
    );
  }
  if (settings.get('includes').includes('prometheus') && settings.get('admin_port') === undefined) {
    risks.push(
      `/__metrics__ needs no credentials and shows ids of users and buckets, and host is ${host}: set admin_port, or block that path at the proxy.`,
    );
  }
  return risks;
}

function ofHostNames(settings: Settings): readonly string[] {
  const host = settings.get('host');
  const allowed = settings.get('allowed_hosts');
  const isBehindProxy = settings.get('http_host') !== undefined || settings.get('trusted_proxies').length > 0;
  if (isLoopback(host) && allowed.includes('*') && !isBehindProxy) {
    return [
      'allowed_hosts is *: any web page that a browser of this machine opens can reach the service by DNS rebinding. Set allowed_hosts = loopback, and add the names that clients use.',
    ];
  }
  if (isEveryAddress(host) && settings.get('http_host') === undefined && allowed.every((name) => name === 'loopback')) {
    return [
      `host is ${host}, and allowed_hosts names no host of this machine but loopback: requests from other machines get 421. Add the names that they use to allowed_hosts.`,
    ];
  }
  return [];
}

const shortSecret = 32;

function ofSecrets(settings: Settings): readonly string[] {
  const names = ['userid_hmac_secret', 'default_bucket_hmac_secret'] as const;
  const risks = names
    .filter((name) => settings.get(name) !== '' && settings.get(name).length < shortSecret)
    .map((name) => `${name} is short: ids can be computed by guessing it. Use 32 random characters or more.`);
  if (settings.get('default_bucket_hmac_legacy_empty')) {
    risks.push('default_bucket_hmac_legacy_empty is on: any client can compute the ids of personal buckets.');
  }
  return risks;
}

function ofBackends(settings: Settings): readonly string[] {
  const used = new Set(backendKinds.map((kind) => findBackend(settings, builtInBackends, kind)));
  return [...used].flatMap((backend) => backend?.findRisks?.(settings) ?? []);
}

function ofAccess(settings: Settings): readonly string[] {
  const risks: string[] = [];
  if (settings.get('bucket_create_principals').includes('system.Everyone')) {
    risks.push('bucket_create_principals names system.Everyone: any client may fill the storage.');
  }
  if (settings.get('multiauth.policies').length === 0) {
    risks.push('multiauth.policies is empty: no client can authenticate.');
  }
  if (settings.get('log_level') === 'silent') risks.push('log_level is silent: errors leave no trace.');
  return risks;
}
