#include "planner/schedule/segment_lowering.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "kernels/op_def.h"

namespace berth {
namespace {

// The box of rows [begin, begin + count) of a value.
Box RowsOf(const Value& value, IndexRange rows) {
  Box box = WholeBox(value.type.shape);
  box.begin[kRowAxis] = rows.begin;
  box.extent[kRowAxis] = rows.count;
  return box;
}

// Rows of a band in scratchpad; nothing yet: buffer == kNoSlot.
struct BandState {
  uint32_t buffer = kNoSlot;
  int64_t first_row = 0;  // at the beginning of the buffer
  int64_t end_row = 0;    // behind the last row that it has
};

std::string WhereIs(const Node& node) {
  return fmt::format("{} '{}'", OpName(node.kind), node.name);
}

// Which operands stand on chip, one bit each.
uint64_t OnChipBits(const OpCall& call) {
  uint64_t bits = call.output_on_chip ? 1 : 0;
  for (const absl::Span<const bool> operands : {call.inputs_on_chip, call.tail_on_chip}) {
    for (const bool on_chip : operands) bits = bits << 1 | (on_chip ? 1 : 0);
  }
  return bits;
}

absl::StatusOr<TileShape> ChooseTile(const LoweringContext& context, int step, const OpCall& call,
                                     const SegmentBudget& budget) {
  TileShape& known =
      context.tables
          .tiles[{step, call.part.range.count, OnChipBits(call), budget.scratchpad_bytes}];
  if (!known.empty()) return known;
  const OpDef& op = GetOpDef(call.node->kind);
  const NpuConfig& machine = context.builder.config();
  const auto choose = [&](int64_t scratchpad_bytes) {
    return DefaultTile(op, call,
                       {scratchpad_bytes, budget.accumulator_bytes, machine,
                        context.tables.whole_sums, budget.command_cycles});
  };
  absl::StatusOr<TileShape> tile = choose(budget.scratchpad_bytes);
  if (absl::IsResourceExhausted(tile.status())) tile = choose(budget.scratchpad_limit_bytes);
  if (!tile.ok()) return Annotate(tile.status(), WhereIs(*call.node));
  known = *tile;
  return tile;
}

absl::Status LowerCall(const LoweringContext& context, int step, const OpCall& call,
                       const TileShape& tile) {
  context.builder.SetOp(static_cast<uint32_t>(step));
  context.builder.SetReads(*call.node);
  const absl::Status status = GetOpDef(call.node->kind).lower(call, tile, context.builder);
  return Annotate(status.ok() ? context.builder.status() : status, WhereIs(*call.node));
}

absl::Status LowerWhole(const LoweringContext& context, int step, const SegmentBudget& budget,
                        std::string& decision) {
  const Node& node = context.graph.nodes[static_cast<size_t>(step)];
  const NodeCall call(context.graph, node, {}, context.placements);
  BERTH_ASSIGN_OR_RETURN(const TileShape tile, ChooseTile(context, step, call.call(), budget));
  decision = fmt::format("tile {}", fmt::join(tile, "x"));
  return LowerCall(context, step, call.call(), tile);
}

bool HasNoElements(const Graph& graph, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    return id == ValueId::kNone || graph.at(id).type.shape.ElementCount() == 0;
  });
}

class StripedSegment {
 public:
  StripedSegment(const LoweringContext& context, const Segment& segment, BandPlan plan)
      : context_(context),
        segment_(segment),
        plan_(std::move(plan)),
        in_dram_(context.placements),
        states_(plan_.bands.size()),
        weights_(HeldWeights(context.graph, context.storage, segment)) {}

  absl::Status Run(const SegmentBudget& budget, std::vector<std::string>& decisions) {
    for (int part = 0; part < plan_.parts; ++part) {
      for (int step = segment_.begin_step; step < segment_.end_step; ++step) {
        BERTH_RETURN_IF_ERROR(RunStep(step, part, budget));
      }
    }
    for (const auto& [step, tile] : tiles_) {
      decisions[static_cast<size_t>(step)] =
          fmt::format("tile {}, {} parts with steps {} to {}", fmt::join(tile, "x"), plan_.parts,
                      segment_.begin_step, segment_.end_step - 1);
    }
    std::move(in_dram_.begin(), in_dram_.end(), context_.placements.begin());
    return absl::OkStatus();
  }

  // What a step does in a part hangs on its rows, and on the rows that its bands copy and load.
  absl::StatusOr<SegmentSample> RunSample(const SegmentBudget& budget) {
    SegmentSample sample;
    std::map<std::vector<int64_t>, size_t> known;  // to sample.runs
    for (int part = 0; part < plan_.parts; ++part) {
      for (int step = segment_.begin_step; step < segment_.end_step; ++step) {
        if (MadeBy(step, part).count == 0) {
          sample.run_of_step.push_back(-1);
          continue;
        }
        const auto [found, is_new] = known.try_emplace(KeyOf(step, part), sample.runs.size());
        sample.run_of_step.push_back(static_cast<int>(found->second));
        if (!is_new) {
          ++sample.runs[found->second].repeats;
          PretendDone(step, part);
          continue;
        }
        const size_t begin_command = context_.builder.commands().size();
        BERTH_RETURN_IF_ERROR(RunStep(step, part, budget));
        sample.runs.push_back({begin_command, compute_command_, moves_result_, 1});
      }
    }
    std::move(in_dram_.begin(), in_dram_.end(), context_.placements.begin());
    sample.held_bytes = HeldBytes(context_.graph, context_.storage, plan_, segment_) + tile_bytes_;
    sample.bands = std::move(plan_);
    return sample;
  }

 private:
  IndexRange MadeBy(int step, int part) const {
    const auto& makes = plan_.makes[static_cast<size_t>(step - segment_.begin_step)];
    return makes.empty() ? IndexRange{} : makes[static_cast<size_t>(part)];
  }

  // Bands that the step moves on.
  std::vector<const Band*> BandsOf(int step) {
    const Node& node = context_.graph.nodes[static_cast<size_t>(step)];
    std::vector<const Band*> bands;
    for (const ValueId read : ReadValues(node)) {
      if (const Band* band = BandOf(read); band != nullptr && !band->is_made) bands.push_back(band);
    }
    if (const Band* band = BandOf(node.outputs[0])) bands.push_back(band);
    return bands;
  }

  std::vector<int64_t> KeyOf(int step, int part) {
    std::vector<int64_t> key = {step, MadeBy(step, part).count};
    key.push_back(weights_.empty() ? 0 : static_cast<int64_t>(weights_.size()));
    for (const Band* band : BandsOf(step)) {
      const BandState& state = StateOf(*band);
      const IndexRange rows = band->held[static_cast<size_t>(part)];
      const bool moves = IsFull(*band, state, rows);
      key.push_back(rows.end() - state.end_row);
      key.push_back(moves ? state.end_row - rows.begin : -1);
      key.push_back(moves ? rows.begin - state.first_row : 0);
    }
    return key;
  }

  // The bands move on without commands.
  void PretendDone(int step, int part) {
    for (const Band* band : BandsOf(step)) {
      BandState& state = StateOf(*band);
      const IndexRange rows = band->held[static_cast<size_t>(part)];
      if (rows.count == 0) continue;
      if (IsFull(*band, state, rows)) state.first_row = rows.begin;
      state.end_row = rows.end();
    }
  }

  absl::Status RunStep(int step, int part, const SegmentBudget& budget) {
    const IndexRange rows = MadeBy(step, part);
    if (rows.count == 0) return absl::OkStatus();
    const Node& node = context_.graph.nodes[static_cast<size_t>(step)];
    context_.builder.SetOp(static_cast<uint32_t>(step));
    for (const ValueId read : ReadValues(node)) PrepareInput(read, part);
    const ValueId out = node.outputs[0];
    Band* band = BandOf(out);
    moves_result_ = band != nullptr && StateOf(*band).buffer != kNoSlot &&
                    IsFull(*band, StateOf(*band), band->held[static_cast<size_t>(part)]);
    if (band != nullptr) Advance(*band, part);
    compute_command_ = context_.builder.commands().size();
    const int axis = plan_.axes[static_cast<size_t>(step - segment_.begin_step)];
    const NodeCall call(context_.graph, node, {axis, rows}, context_.placements);
    BERTH_ASSIGN_OR_RETURN(const TileShape tile, ChooseTile(context_, step, call.call(), budget));
    tiles_[step] = tile;
    tile_bytes_ =
        std::max(tile_bytes_, TileCostOf(GetOpDef(node.kind), call.call(), tile).scratchpad_bytes);
    BERTH_RETURN_IF_ERROR(LowerCall(context_, step, call.call(), tile));
    if (band != nullptr && band->is_stored) StoreRows(out, rows);
    return absl::OkStatus();
  }

  Band* BandOf(ValueId id) {
    const int buffer = context_.storage.places[Index(id)].buffer;
    const int band = buffer < 0 ? -1 : plan_.band_of_buffer[static_cast<size_t>(buffer)];
    return band < 0 ? nullptr : &plan_.bands[static_cast<size_t>(band)];
  }
  BandState& StateOf(const Band& band) {
    return states_[static_cast<size_t>(&band - plan_.bands.data())];
  }

  void PrepareInput(ValueId id, int part) {
    if (Band* band = BandOf(id); band != nullptr) {
      if (!band->is_made) Advance(*band, part);
      return;
    }
    const auto held = std::find(weights_.begin(), weights_.end(), id);
    if (held == weights_.end()) return;
    LoadWeights(id);
    weights_.erase(held);
  }

  // The whole value into a buffer of its own, where it is found from now on.
  void LoadWeights(ValueId id) {
    TileBuilder& builder = context_.builder;
    const Value& value = context_.graph.at(id);
    builder.SetReads(Node{});
    const TileView tile = builder.Load(id, WholeBox(value.type.shape), "weights");
    Place(id, tile.buffer, 0, tile.stride_bytes);
  }

  void Place(ValueId id, uint32_t buffer, int64_t offset_bytes, const Extents& stride_bytes) {
    ValuePlacement& placement = context_.placements[Index(id)];
    placement.space = MemorySpace::kScratchpad;
    placement.slot = buffer;
    placement.offset_bytes = offset_bytes;
    placement.stride_bytes = stride_bytes;
  }

  // A view of rows of `id` in the band's buffer.
  TileView View(const Band& band, const BandState& state, ValueId id, IndexRange rows) const {
    const StoragePlace& place = context_.storage.places[Index(id)];
    TileView view;
    view.buffer = state.buffer;
    view.dtype = context_.graph.at(id).type.dtype;
    view.extent = RowsOf(context_.graph.at(id), rows).extent;
    view.stride_bytes = place.stride_bytes;
    view.offset_bytes = place.offset_bytes + (rows.begin - state.first_row) * band.row_bytes;
    return view;
  }

  // The band holds what `part` needs: fresh rows are loaded or yet to be made, behind those that it
  // has; where its buffer ends, rows that are still needed are copied to the beginning of a fresh
  // one, or of their own.
  void Advance(const Band& band, int part) {
    BandState& state = StateOf(band);
    const IndexRange rows = band.held[static_cast<size_t>(part)];
    if (rows.count == 0 || (state.buffer != kNoSlot && rows.end() == state.end_row)) return;
    const BandState before = state;
    const bool moves = IsFull(band, state, rows);
    state.end_row = rows.end();
    if (moves) {
      state.first_row = rows.begin;
      if (state.buffer == kNoSlot || !segment_.moves_in_place) {
        state.buffer =
            context_.builder.NewBuffer(MemorySpace::kScratchpad, band.buffer_bytes(), "rows");
      }
    }
    const bool is_first = before.buffer == kNoSlot;
    const int64_t kept_end = is_first ? rows.begin : before.end_row;
    const IndexRange fresh{kept_end, rows.end() - kept_end};
    const IndexRange kept{rows.begin, kept_end - rows.begin};
    if (moves && segment_.moves_in_place) Keep(band, before, state, kept);
    for (const ValueId id : band.loaded) LoadRows(id, View(band, state, id, fresh), fresh);
    if (!moves) return;
    if (!segment_.moves_in_place) Keep(band, before, state, kept);
    for (const ValueId id : band.all) {
      const StoragePlace& place = context_.storage.places[Index(id)];
      Place(id, state.buffer, place.offset_bytes - rows.begin * band.row_bytes, place.stride_bytes);
    }
  }

  // Copies the rows that are still to be read from one place to another, in groups that do not
  // overlap themselves.
  void Keep(const Band& band, const BandState& from, const BandState& to, IndexRange kept) {
    const int64_t group = from.buffer == to.buffer ? to.first_row - from.first_row : kept.count;
    for (int64_t row = kept.begin; row < kept.end(); row += group) {
      const IndexRange rows{row, std::min(group, kept.end() - row)};
      for (const ValueId id : band.values) {
        context_.builder.Copy(View(band, to, id, rows), View(band, from, id, rows));
      }
    }
  }

  static bool IsFull(const Band& band, const BandState& state, IndexRange rows) {
    return state.buffer == kNoSlot || rows.end() - state.first_row > band.buffer_rows;
  }

  // In DRAM the value stands where it would without the segment.
  template <typename Body>
  void WithDramPlace(ValueId id, Body&& body) {
    ValuePlacement& placement = context_.placements[Index(id)];
    const ValuePlacement on_chip = placement;
    placement = in_dram_[Index(id)];
    context_.builder.SetReads(Node{});
    body();
    placement = on_chip;
  }
  void LoadRows(ValueId id, const TileView& view, IndexRange rows) {
    WithDramPlace(
        id, [&] { context_.builder.LoadInto(id, RowsOf(context_.graph.at(id), rows), view); });
  }
  void StoreRows(ValueId id, IndexRange rows) {
    const Band& band = *BandOf(id);
    const TileView view = View(band, StateOf(band), id, rows);
    WithDramPlace(id,
                  [&] { context_.builder.Store(id, RowsOf(context_.graph.at(id), rows), view); });
  }

  const LoweringContext& context_;
  const Segment segment_;
  BandPlan plan_;
  std::vector<ValuePlacement> in_dram_;  // of all values, as they are outside the segment
  std::vector<BandState> states_;        // per band
  std::vector<ValueId> weights_;         // those that are not loaded yet
  int64_t tile_bytes_ = 0;               // of the largest tile so far
  size_t compute_command_ = 0;           // of the last step: the first behind those that bring rows
  bool moves_result_ = false;            // of the last step
  std::map<int, TileShape> tiles_;       // by step, of its last part
};

absl::StatusOr<StripedSegment> Stripe(const LoweringContext& context, const Segment& segment,
                                      std::optional<BandPlan> bands) {
  if (!bands) {
    return Unimplemented("steps {} to {} cannot be computed in parts", segment.begin_step,
                         segment.end_step - 1);
  }
  return StripedSegment(context, segment, *std::move(bands));
}

}  // namespace

absl::Status LowerSegment(const LoweringContext& context, const Segment& segment,
                          std::optional<BandPlan> bands, const SegmentBudget& budget,
                          std::vector<std::string>& decisions) {
  context.builder.ForgetHeld();
  if (segment.is_striped()) {
    BERTH_ASSIGN_OR_RETURN(StripedSegment striped, Stripe(context, segment, std::move(bands)));
    return striped.Run(budget, decisions);
  }
  const Node& node = context.graph.nodes[static_cast<size_t>(segment.begin_step)];
  std::string& decision = decisions[static_cast<size_t>(segment.begin_step)];
  if (context.storage.nodes[static_cast<size_t>(segment.begin_step)] == NodeStorage::kView) {
    decision = "view";
    return absl::OkStatus();
  }
  if (GetOpDef(node.kind).lower == nullptr) {
    return Unimplemented("{}: no unit of the machine executes it", WhereIs(node));
  }
  if (HasNoElements(context.graph, node)) {
    decision = "no elements";
    return absl::OkStatus();
  }
  return LowerWhole(context, segment.begin_step, budget, decision);
}

absl::StatusOr<SegmentSample> LowerSample(const LoweringContext& context, const Segment& segment,
                                          std::optional<BandPlan> bands,
                                          const SegmentBudget& budget) {
  if (segment.is_striped()) {
    BERTH_ASSIGN_OR_RETURN(StripedSegment striped, Stripe(context, segment, std::move(bands)));
    return striped.RunSample(budget);
  }
  std::vector<std::string> decisions(context.graph.nodes.size());
  BERTH_RETURN_IF_ERROR(LowerSegment(context, segment, std::nullopt, budget, decisions));
  SegmentSample sample;
  sample.runs.emplace_back();
  return sample;
}

}  // namespace berth
