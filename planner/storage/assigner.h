// One pass of storage assignment: interface and constants first, then views that results impose on
// what they are made of (backwards), then views, in-place and own buffers (forwards).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "planner/storage/storage.h"

namespace berth {

class StorageAssigner {
 public:
  // Nodes at `kept_apart` steps get no in-place result. The arguments must outlive the assigner.
  StorageAssigner(const Graph& graph, const StorageOptions& options,
                  const std::set<int>& kept_apart);

  StoragePlan Run();  // once
  // Steps whose in-place result keeps a buffer alive that is larger than the result.
  const std::vector<int>& enlarging_steps() const { return enlarging_steps_; }

 private:
  const TensorType& TypeOf(ValueId id) const { return graph_.at(id).type; }
  StoragePlace& PlaceOf(ValueId id) { return plan_.places[Index(id)]; }
  StorageBuffer& BufferOf(ValueId id) {
    return plan_.buffers[static_cast<size_t>(PlaceOf(id).buffer)];
  }
  bool IsPlaced(ValueId id) { return PlaceOf(id).buffer >= 0; }

  void FindLastUses();
  void FindDenseNeeds();
  bool MayHaveStrides(ValueId value, const Extents& stride_bytes);
  int NewBuffer(RegionKind kind, uint32_t index, ValueId value);
  void SetPlace(ValueId value, StoragePlace place, StorageOrigin origin);
  void PlaceAlone(ValueId value, RegionKind kind, uint32_t index);
  void PlaceInterface();
  void PlaceConstants();

  // Backwards: operands of a concat are written where the concat wants them, and what a reshape
  // reads stands where the result must.
  bool IsFree(ValueId value);
  void PlaceOperands(const Node& node);
  void PlaceConcatOperands(const Node& node);

  // Forwards.
  void PlaceOutputs(const Node& node, int step);
  bool TryView(const Node& node, int step);
  std::optional<StoragePlace> ViewPlace(const Node& node);
  bool IsConcatInPlace(const Node& node);
  bool TryInPlace(const Node& node, int step);
  // The last node after `step` that reads these bytes, through views to come; -1: none does.
  int LastReadAfter(ValueId value, int step) const;
  // Why the bytes of `candidate` cannot become output 0's at `step`; nothing: they can.
  std::optional<std::string> WhatStops(const Node& node, int step, ValueId candidate);
  void Note(ValueId value, const std::string& text);

  void FindLives();
  void FindHomes();
  bool MayShareHome(ValueId a, ValueId b, int step) const;

  const Graph& graph_;
  const StorageOptions& options_;
  const std::set<int>& kept_apart_;
  const GraphUses uses_;
  std::vector<int> segment_of_;  // of every step; empty when nothing is on chip
  StoragePlan plan_;
  std::vector<int> enlarging_steps_;
  std::vector<bool> needs_dense_;  // per value
  std::vector<std::vector<ValueId>> values_in_buffer_;
};

}  // namespace berth
