// `DELETE …/attachment`: the record stays, without its file. What becomes of the file follows from the change of the
// record, as when a client takes the attribute away itself.
import type { Context } from '../../engine/context.ts';
import type { ServiceResponse } from '../../engine/exchange.ts';
import type { AttachmentService } from './service.ts';
import { recordRequest, timestampsOf } from './upload.ts';

export async function removeAttachment({ host }: AttachmentService, context: Context): Promise<ServiceResponse> {
  const value = { data: { attachment: null } };
  const request = recordRequest(host.versionPrefix, context.request, context.ids, { method: 'PATCH', value });
  const response = await context.dispatch(request);
  if (response.status >= 400) return response;
  return { status: 204, headers: timestampsOf(response), body: '' };
}
