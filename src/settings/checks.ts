// Checks of settings against each other.
import { backendKinds, namesOf, type BackendDescription } from './backend-description.ts';
import { environmentName } from './definition.ts';
import { coreFamilies, type SettingsFamily } from './families.ts';
import type { EnvironmentLayer, Layer } from './layers.ts';
import { text } from './readers.ts';
import { policyClass } from './kinto-names.ts';
import { emptyReport, resolveKey, soundsSecret, type Report } from './resolve.ts';
import { coreSettings, type CoreValues } from './table.ts';

export interface Sources {
  readonly layers: readonly Layer[];
  readonly environments: readonly EnvironmentLayer[];
}

/**
 * Purpose of the settings: a service, changes of accounts, maintenance of backends, or other work. It decides which settings
 * are required.
 */
export type Purpose = 'service' | 'accounts' | 'backends' | 'other';

/** Reports problems and warnings about settings that contradict each other, as far as the purpose needs them. */
export function checkTogether(
  values: CoreValues,
  { layers, environments }: Sources,
  { purpose, backends }: { readonly purpose: Purpose; readonly backends: readonly BackendDescription[] },
  report: Report,
): void {
  checkFamilies(coreFamilies, { layers, environments }, report);
  if (purpose === 'service' || purpose === 'accounts') checkSecret(values, layers, report);
  if (purpose === 'service') checkService(values, backends, report);
}

function checkService(values: CoreValues, backends: readonly BackendDescription[], report: Report): void {
  checkWorkers(values, backends, report);
  if (values.admin_port === values.http_port && values.admin_port !== 0 && values.admin_host === values.host) {
    report.problems.push({
      name: 'admin_port',
      given: String(values.admin_port),
      message: 'must differ from http_port',
    });
  }
  if (values.http_scheme === 'http') {
    report.warnings.push('http_scheme is http: passwords are sent unencrypted unless a proxy adds TLS');
  }
  if (values.flush_endpoint_enabled) {
    report.warnings.push('flush_endpoint_enabled is true: any client can delete all data with one request');
  }
}

/** Reads the given settings of families, which are otherwise read on demand, so that their problems are reported at once. */
export function checkFamilies(
  families: readonly SettingsFamily[],
  { layers, environments }: Sources,
  report: Report,
): void {
  for (const key of new Set(layers.flatMap((layer) => layer.keys))) {
    if (Object.hasOwn(coreSettings, key)) continue;
    const reader = families.find(({ pattern }) => pattern.test(key))?.reader;
    if (reader !== undefined) resolveKey(layers, [key], reader, { report, isSecret: soundsSecret(key) });
  }
  for (const environment of environments) checkFamilyVariables(families, environment, report);
}

/** Reads the settings of families in the environment, where only the form of the name identifies the family. */
function checkFamilyVariables(
  families: readonly SettingsFamily[],
  { prefix, variables }: EnvironmentLayer,
  report: Report,
): void {
  const listed = new Set(Object.keys(coreSettings).map((key) => environmentName(key, prefix)));
  for (const [name, given] of variables) {
    if (listed.has(name)) continue;
    const key = name.slice(prefix.length).toLowerCase();
    const reading = families.find(({ environmentPattern }) => environmentPattern.test(key))?.reader?.read(given);
    if (reading?.kind === 'wrong') {
      report.problems.push({ name, given, from: 'environment', message: `expected ${reading.expected}` });
    }
  }
}

/** Requires a secret. Without one, any client could compute user ids from credentials, and find credentials by brute force. */
function checkSecret(values: CoreValues, layers: readonly Layer[], report: Report): void {
  if (values.userid_hmac_legacy_empty) report.warnings.push(describeLegacyIds(values.userid_hmac_secret));
  if (values.userid_hmac_secret !== '') return;
  if (values.pagination_token_signed) {
    const message = 'must be set with pagination_token_signed, because it signs the page tokens';
    report.problems.push({ name: 'userid_hmac_secret', message });
  }
  if (values.userid_hmac_legacy_empty) return;
  const needy = values['multiauth.policies'].filter((policy) => needsSecret(policy, layers));
  if (needy.length > 0) {
    const message =
      `${isKintoWithoutPolicies(layers) ? kintoWithoutPolicies : ''}must be set to a long random text, because ` +
      `${describePolicies(needy)} ids or keys from it. ` +
      'In a deployment without a secret, userid_hmac_legacy_empty = true keeps the user ids of Basic authentication.';
    report.problems.push({ name: 'userid_hmac_secret', message });
  } else if (values['multiauth.policies'].length > 0) {
    report.warnings.push('userid_hmac_secret is not set');
  }
}

const kintoWithoutPolicies =
  'multiauth.policies is not set. In Kinto, all callers are then anonymous; the line "multiauth.policies =" keeps that, and ' +
  'needs no secret. For Basic authentication, which is the default of Coffer, the secret ';

function isKintoWithoutPolicies(layers: readonly Layer[]): boolean {
  if (layers.some((layer) => layer.find('multiauth.policies') !== undefined)) return false;
  return layers.some(
    (layer) =>
      layer.keys.some((key) => layer.find(key)?.name.startsWith('kinto.')) ||
      /^egg:kinto\b/.test(layer.find('use')?.text ?? ''),
  );
}

function describePolicies(names: readonly string[]): string {
  return names.length === 1 ? `the policy ${names[0]} derives` : `the policies ${names.join(' and ')} derive`;
}

function needsSecret(policy: string, layers: readonly Layer[]): boolean {
  const options = { report: emptyReport(), isSecret: true };
  const { value } = resolveKey(layers, [`multiauth.policy.${policy}.use`], text(), options);
  const use = policyClass(value ?? policy);
  return use === 'BasicAuthAuthenticationPolicy' || use === 'AccountsPolicy';
}

function describeLegacyIds(secret: string): string {
  const advice =
    secret === ''
      ? 'Set userid_hmac_secret too: these ids stay the same, and all other values derived from a secret become safe. '
      : '';
  return (
    'INSECURE: userid_hmac_legacy_empty is true. User ids of Basic authentication are derived with an empty secret: ' +
    `any reader of a user id can find its name and password by brute force. ${advice}` +
    'Move users to accounts or OpenID Connect, then remove the setting.'
  );
}

/** Refuses several workers with backends that cannot be shared: a memory cache would let each process use a one-time token again. */
function checkWorkers(values: CoreValues, backends: readonly BackendDescription[], report: Report): void {
  if (values.workers === 1) return;
  const refuse = (message: string): unknown =>
    report.problems.push({ name: 'workers', given: String(values.workers), message: `must be 1 with ${message}` });
  const shared = backends.filter(({ reasonForOneProcess }) => reasonForOneProcess === undefined);
  for (const kind of backendKinds) {
    const name = values[`${kind}_backend`];
    const reason = backends.find((backend) => backend.name === name)?.reasonForOneProcess;
    if (reason === undefined) continue;
    refuse(`${kind}_backend = ${name}: ${reason}. Several workers need ${namesOf(shared, 'storage').join(' or ')}`);
  }
  if (values.security_state_backend === 'memory') {
    refuse('security_state_backend = memory: each process would count failed logins separately');
  }
}
