// The parts of this area that the service has.
import { capabilityText, type Service } from '../../core/service.ts';

/** Returns the parts of the area that the service has. */
export function partsOf(service: Service): ReadonlySet<string> {
  const { areas } = JSON.parse(capabilityText(service, 'operations') ?? '{}') as { readonly areas?: readonly string[] };
  return new Set(areas);
}
