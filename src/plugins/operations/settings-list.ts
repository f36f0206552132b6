// `GET /operations/settings`: the settings in effect with their sources. Secret values are hidden.
import type { JsonObject } from '../../base/json.ts';
import type { Context } from '../../engine/context.ts';
import { objectWith, type OperationDescription } from '../../engine/description.ts';
import { forReading, type Endpoint } from '../../engine/endpoint.ts';
import { jsonResponse, type ServiceResponse } from '../../engine/exchange.ts';
import { readPlainParameters } from '../../engine/plain-parameters.ts';
import type { EffectiveSetting } from '../../settings/effective.ts';

/** Returns the endpoint, without a check of access. */
export function settingsEndpoint(listSettings: () => readonly EffectiveSetting[]): Endpoint {
  // Settings do not change while the service runs.
  let data: readonly JsonObject[] | undefined;
  const handle = (context: Context): Promise<ServiceResponse> => {
    readPlainParameters(context, {});
    data ??= listSettings().map(formatSetting);
    return Promise.resolve(jsonResponse(200, { data }));
  };
  return {
    name: 'operations-settings',
    tag: 'operations',
    path: '/operations/settings',
    isResource: false,
    operations: forReading('get_settings', { handle, describe }),
  };
}

function formatSetting(setting: EffectiveSetting): JsonObject {
  return {
    name: setting.name,
    value: setting.value ?? null,
    is_hidden: setting.isHidden,
    source: setting.source,
    place: setting.place ?? null,
    section: setting.section ?? null,
    description: setting.description ?? null,
    default: setting.default ?? null,
  };
}

function describe(): OperationDescription {
  const text = { type: 'string' };
  const optional = { type: ['string', 'null'] };
  const items = objectWith({
    name: text,
    value: optional,
    is_hidden: { type: 'boolean' },
    source: { type: 'string', enum: ['default', 'profile', 'file', 'environment', 'command line', 'program'] },
    place: optional,
    section: optional,
    description: optional,
    default: optional,
  });
  const schema = objectWith({ data: { type: 'array', items } });
  return {
    summary: 'Returns the settings in effect, with their sources. Secret values are hidden.',
    responses: { 200: { description: 'The settings.', schema } },
  };
}
