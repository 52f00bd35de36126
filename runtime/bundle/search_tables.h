// How the plan was found, as tables of the metadata (bundle.fbs): segments and timed plans.
#pragma once

#include <vector>

#include "base/status.h"
#include "bundle_generated.h"
#include "runtime/bundle/contents.h"

namespace berth {

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::SegmentInfo>>> PackSegments(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<SegmentInfo>& segments);
flatbuffers::Offset<flatbuffers::Vector<const fb::ScheduleTrial*>> PackTrials(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<ScheduleTrial>& trials);

// After the table of ops. DataLoss names the segment or trial whose numbers cannot be: segments
// must cover the ops in order without gaps, so that whoever explains an op finds its own.
absl::Status ReadSearch(const fb::Metadata& metadata, BundleContents& contents);

}  // namespace berth
